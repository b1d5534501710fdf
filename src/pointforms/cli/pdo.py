"""`npf pdo`: simulate, convert, prepare and audit the organoid data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from pointforms.cli.console import console, explained
from pointforms.support.progress import track

app = typer.Typer(
    help="Organoid tasks from the published table of cells, or from a simulated one.",
    no_args_is_help=True,
)

OUT = Annotated[Path, typer.Option(help="Folder of the prepared tasks.")]
DROP = Annotated[
    bool, typer.Option("--drop-unmatched", help="Leave out conditions without their control.")
]


@app.command()
def simulate(
    out: Annotated[Path, typer.Argument(help="A .parquet file.")] = Path("pdo-simulated.parquet"),
    cells: Annotated[int, typer.Option(min=1, help="Mean cells of a sample.")] = 120,
    full: Annotated[bool, typer.Option("--full", help="The published size, 25 million.")] = False,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Write a SIMULATED table of the published one's columns and plates."""
    from pointforms.paper.organoids.simulate import Simulator, write_simulated

    with explained("pdo simulate"):
        size = None if full else cells
        total = len(Simulator(size, seed).design())
        with track(total, "samples") as advance:
            samples, rows = write_simulated(out, size, seed, advance)
    typer.echo(f"{samples} samples, {rows} cells, simulated\nWritten: {out.resolve()}")


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="The publisher's pandas pickle.")],
    out: Annotated[Path, typer.Argument(help="A .parquet file.")],
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="A pickle can run any code: do you trust it?")
    ] = False,
) -> None:
    """Turn the publisher's pickle into parquet, once."""
    from pointforms.paper.organoids.pickle import convert_pickle

    with explained("pdo convert"):
        rows = convert_pickle(source, out, trust_pickle)
    typer.echo(f"{rows} cells\nWritten: {out.resolve()}")


@app.command()
def prepare(
    table: Annotated[Path, typer.Argument(help="A .parquet, .feather or .csv table of cells.")],
    task: Annotated[
        list[str] | None, typer.Option(help="efp, caf, …; all seven if not given.")
    ] = None,
    out: OUT = Path("pdo"),
    policy: Annotated[str, typer.Option(help="strict or relaxed: what is withheld.")] = "strict",
    replicates: Annotated[
        bool, typer.Option("--replicates", help="Replicates are clouds of their own.")
    ] = False,
    with_ppkca: Annotated[
        bool, typer.Option("--with-ppkca", help="Keep pPKCa, drop the rows that lack it.")
    ] = False,
    without_caspase: Annotated[
        bool, typer.Option("--without-caspase", help="celltype without cCaspase_3.")
    ] = False,
    drop_unmatched: DROP = False,
    seed: Annotated[int, typer.Option(min=0, help="Of kept cells, folds and split.")] = 0,
) -> None:
    """Make labelled tasks of a table: clouds are conditions, points are cells."""
    from pointforms.paper.organoids.catalogue import read_facts
    from pointforms.paper.organoids.prepare import TASKS, Options
    from pointforms.paper.organoids.prepare import prepare as prepare_tasks
    from pointforms.paper.organoids.table import CellTable
    from pointforms.support.peak_memory import peak

    with explained("pdo prepare"):
        options = Options(
            policy,  # type: ignore[arg-type]
            replicates,
            with_ppkca,
            without_caspase,
            drop_unmatched,
            seed,
        )
        names = [name.removeprefix("pdo-") for name in task] if task else TASKS
        with track(CellTable(table).rows(), "cells", unit="cells") as advance:
            made = prepare_tasks(table, out, names, options, advance)
    for folder in made.values():
        told = read_facts(folder)
        typer.echo(f"{folder.name}: {told['clouds']} clouds, {told['description']}")
        for note in told["notes"]:
            typer.echo(f"  note: {note}")
    typer.echo(
        f"{told['rows']} cells read, {told['dropped']} dropped; peak memory "
        f"{peak() / 2**30:.2f} GiB\nWritten: {out.resolve()}"
    )


@app.command()
def audit(out: OUT = Path("pdo")) -> None:
    """Look for leaks in prepared tasks; ends with an error if there is one."""
    from pointforms.paper.organoids.audit import audit as audit_task

    with explained("pdo audit"):
        folders = sorted(path.parent for path in out.glob("pdo-*/task.json"))
        if not folders:
            raise FileNotFoundError(f"no prepared tasks in {str(out)!r}: `npf pdo prepare TABLE`")
        found = []
        with track(len(folders), "tasks") as advance:
            for folder in folders:
                found += audit_task(folder)
                advance(1)
    view = Table(title="Leakage audit", title_justify="left")
    for heading in ("task", "what", "", "found"):
        view.add_column(heading)
    for one in found:
        view.add_row(one.task, one.what, "ok" if one.passed else "LEAK", escape(one.found))
    console.print(view)
    if not all(one.passed for one in found):
        raise typer.Exit(1)

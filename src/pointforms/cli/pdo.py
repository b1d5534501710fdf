"""`npf pdo`: simulate, convert, prepare and audit the organoid data."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pointforms.cli import options
from pointforms.cli.console import Commands, echo, print_table, use_one_thread
from pointforms.support.progress import track
from pointforms.support.table import Column, Table

app = typer.Typer(
    cls=Commands,
    help="Organoid tasks from the published table of cells, or from a simulated one.",
    no_args_is_help=True,
)

OUT = Annotated[Path, typer.Option(help="Folder of the prepared tasks.")]


class PolicyName(StrEnum):
    """Which markers of a label are withheld from the inputs."""

    strict = "strict"
    relaxed = "relaxed"


class PPKCaName(StrEnum):
    """What to do about the marker pPKCa, which many cells lack."""

    none = "none"
    drop = "drop"
    impute = "impute"


@app.command()
def simulate(
    out: Annotated[Path, typer.Argument(help="The .parquet file to write.")] = Path(
        "pdo-simulated.parquet"
    ),
    cells: Annotated[int, typer.Option(min=1, help="Mean number of cells per sample.")] = 120,
    full: Annotated[
        bool, typer.Option("--full", help="Simulate the published size, 25 million cells.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
) -> None:
    """Write a SIMULATED table with the columns and plates of the published one."""
    from pointforms.paper.organoids.simulate import Simulator, write_simulated

    size = None if full else cells
    total = len(Simulator(size, seed).design())
    with track(total, "samples") as advance:
        samples, rows = write_simulated(out, size, seed, advance)
    echo(f"{samples} samples, {rows} cells, simulated\nWritten: {out.resolve()}")


@app.command()
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            help="The publisher's download, Metadata_PDO_CAF_screening.zip, or the pickle in it."
        ),
    ],
    out: Annotated[Path, typer.Argument(help="The .parquet file to write.")],
    trust_pickle: Annotated[
        bool,
        typer.Option("--trust-pickle", help="Confirm that you trust the source of the file."),
    ] = False,
) -> None:
    """Convert the publisher's file, a pickle in a zip archive, to a .parquet file."""
    from pointforms.paper.organoids.trusted_pickle import convert_pickle, find_pickle
    from pointforms.support.peak_memory import peak

    pickle = find_pickle(source)
    if trust_pickle:
        echo(pickle.needs())
    with track(pickle.size, "bytes", unit="bytes") as advance:
        rows = convert_pickle(pickle, out, trust_pickle, advance)
    echo(f"{rows} cells; peak memory {peak() / 2**30:.2f} GiB\nWritten: {out.resolve()}")


@app.command()
def prepare(
    table: Annotated[Path, typer.Argument(help="A .parquet, .feather or .csv table of cells.")],
    task: Annotated[
        list[str] | None,
        typer.Option(help="Task to prepare, such as efp; may be repeated (default: all seven)."),
    ] = None,
    out: OUT = Path("pdo"),
    policy: Annotated[
        PolicyName, typer.Option(help="Which markers of a label are withheld from the inputs.")
    ] = PolicyName.strict,
    replicates: Annotated[
        bool, typer.Option("--replicates", help="Make one cloud per replicate.")
    ] = False,
    ppkca: Annotated[
        PPKCaName,
        typer.Option(
            help="The marker pPKCa, which whole plates lack: leave it out (none), drop cells "
            "without it (drop), or fill it in, fitted on training patients in every fold (impute)."
        ),
    ] = PPKCaName.none,
    without_caspase: Annotated[
        bool, typer.Option("--without-caspase", help="Prepare celltype without cCaspase_3.")
    ] = False,
    drop_unmatched: options.DROP_UNMATCHED = False,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the cells kept, the folds and the split.")
    ] = 0,
) -> None:
    """Prepare labelled tasks from a table: clouds are conditions, points are cells."""
    from pointforms.paper.organoids.catalogue import read_facts
    from pointforms.paper.organoids.prepare import TASKS, Options
    from pointforms.paper.organoids.prepare import prepare as prepare_tasks
    from pointforms.paper.organoids.table import CellTable
    from pointforms.support.peak_memory import peak

    chosen = Options(policy.value, replicates, ppkca.value, without_caspase, drop_unmatched, seed)
    names = [name.removeprefix("pdo-") for name in task] if task else TASKS
    with track(CellTable(table).rows(), "cells", unit="cells") as advance:
        folders = prepare_tasks(table, out, names, chosen, advance)
    for folder in folders.values():
        facts = read_facts(folder)
        echo(f"{folder.name}: {facts['clouds']} clouds, {facts['description']}")
        for note in facts["notes"]:
            echo(f"  note: {note}")
    for note in facts["table_notes"]:
        echo(f"note: {note}")
    echo(
        f"{facts['rows']} cells read, {facts['dropped']} dropped; peak memory "
        f"{peak() / 2**30:.2f} GiB\nWritten: {out.resolve()}"
    )


@app.command()
def audit(out: OUT = Path("pdo")) -> None:
    """Search prepared tasks for leaks, and exit with an error if there is one."""
    from pointforms.paper.organoids.audit import audit as audit_task

    use_one_thread()
    folders = sorted(path.parent for path in out.glob("pdo-*/task.json"))
    if not folders:
        raise FileNotFoundError(
            f"no prepared tasks in {str(out)!r}: `npf pdo prepare TABLE` writes them"
        )
    findings = []
    with track(len(folders), "tasks") as advance:
        for folder in folders:
            findings += audit_task(folder)
            advance(1)
    columns = [
        Column("task", "task", left=True),
        Column("what", "check", left=True),
        Column("passed", "result", lambda passed: "ok" if passed else "LEAK", left=True),
        Column("details", "finding", left=True),
    ]
    print_table(Table.of("Leakage audit", columns, findings))
    if not all(finding.passed for finding in findings):
        raise typer.Exit(1)

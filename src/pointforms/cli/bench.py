"""`npf run`, `sweep`, `status`, `table`, `plan`, `reproduce`, `memory`, `export`, `import`."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pointforms.bench import tables
from pointforms.bench.fits_csv import read_csv, write_csv
from pointforms.bench.local_engine import LocalEngine
from pointforms.bench.manifest import Manifest, read_manifest
from pointforms.bench.plan import plan as make_plan
from pointforms.bench.plan import plan_table, span
from pointforms.bench.records import Record, Row
from pointforms.bench.running import Engine, log_path
from pointforms.bench.running import run as run_units
from pointforms.bench.store import Store
from pointforms.bench.study_files import write_results
from pointforms.bench.sweep import read_sweep
from pointforms.bench.toml_lines import Fault
from pointforms.cli.console import console, explained
from pointforms.cli.pdo import DROP
from pointforms.support.files import check_output, write_text
from pointforms.support.progress import track

_RESULTS = Path("results.db")


class EngineName(StrEnum):
    local = "local"
    ray = "ray"


class Format(StrEnum):
    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


class Study(StrEnum):
    synthetic = "synthetic"
    pdo = "pdo"


STORE = Annotated[Path, typer.Option("--store", help="A SQLite file; made if it is not there.")]
ENGINE = Annotated[EngineName, typer.Option(help="Processes of this machine, or a Ray cluster.")]
WORKERS = Annotated[
    int | None, typer.Option(min=1, help="Processes of one thread each; one a core if not given.")
]
DEVICES = Annotated[
    str | None, typer.Option(help="Torch devices by commas, one process each: cuda:0,cuda:1.")
]
ADDRESS = Annotated[
    str | None, typer.Option(help="Of a Ray cluster; one of this machine is started if not given.")
]
RETRY = Annotated[bool, typer.Option("--retry", help="Try fits that failed again.")]
MANIFEST = Annotated[
    str, typer.Argument(metavar="MANIFEST", help="A TOML file, or a shipped manifest's name.")
]
READ_STORE = Annotated[Path, typer.Argument(metavar="STORE", help="A SQLite file of fits.")]
FOLDS = Annotated[int, typer.Option(min=1, max=5, help="How many of the five folds.")]
SEEDS = Annotated[int, typer.Option(min=1, help="Seeds of each fold.")]


def run(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's name, or a file.")],
    model: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="One model or several: `npf models`.")
    ],
    folds: FOLDS = 5,
    seeds: SEEDS = 1,
    clouds: Annotated[int | None, typer.Option(help="So many clouds of the task.")] = None,
    points: Annotated[int | None, typer.Option(help="So many points of a cloud.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the models, as in TOML."),
    ] = None,
    store: STORE = _RESULTS,
    engine: ENGINE = EngineName.local,
    workers: WORKERS = None,
    devices: DEVICES = None,
    address: ADDRESS = None,
    retry: RETRY = False,
) -> None:
    """Fit models on the folds of a task, and print how they did."""
    with explained("run"):
        content: dict[str, Any] = {"tasks": [task], "models": model, "folds": folds}
        content |= {"seeds": seeds, "options": _settings(settings or [])}
        content |= {k: v for k, v in (("clouds", clouds), ("points", points)) if v is not None}
        try:
            sweep = read_sweep(content, (), Path(), {})
        except Fault as fault:
            raise ValueError(str(fault)) from None
        manifest = Manifest(f"{task}: {', '.join(model)}", (sweep,))
        found = _carry_out(manifest, store, _engine(engine, workers, devices, address), retry)
    _print_tables(found, manifest.rows())


def sweep(
    manifest: MANIFEST,
    store: STORE = _RESULTS,
    engine: ENGINE = EngineName.local,
    workers: WORKERS = None,
    devices: DEVICES = None,
    address: ADDRESS = None,
    retry: RETRY = False,
) -> None:
    """Train every fit of a manifest that the store does not have yet.

    It may be stopped at any moment and started again; several may share a store.
    """
    with explained("sweep"):
        read = read_manifest(manifest)
        found = _carry_out(read, store, _engine(engine, workers, devices, address), retry)
    _print_tables(found, read.rows())


def plan(
    manifest: MANIFEST,
    store: Annotated[
        Path | None, typer.Option("--store", help="Fits that are there, and how long they took.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that will train.")] = 2,
) -> None:
    """Print the rows and fits of a manifest, and an estimate of the time."""
    with explained("plan"):
        read = read_manifest(manifest)
        if store is None:
            made = make_plan(read)
        else:
            with Store(store, create=False) as there:
                made = make_plan(read, there.keys(), there.seconds())
    _wide().print(plan_table(made, workers))


def status(
    store: READ_STORE = _RESULTS,
    log: Annotated[int, typer.Option(min=0, help="Lines of the log.")] = 8,
) -> None:
    """Print what a store holds, which runs were there, and what is going on."""
    with explained("status"), Store(store, create=False) as there:
        records, runs, claimed = there.records(predictions=False), there.runs(), there.claimed()
    view = Table(title=f"{len(records)} fits", title_justify="left")
    for heading in ("task", "model", "rows", "fits", "failed", "hours"):
        view.add_column(heading, justify="left" if heading in ("task", "model") else "right")
    by_model: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        by_model.setdefault((record.row.task, record.row.model), []).append(record)
    for (task, model), group in sorted(by_model.items()):
        failed = sum(record.error is not None for record in group)
        hours = sum(r.seconds for r in group if r.error is None and r.seconds == r.seconds) / 3600
        rows = len({record.row for record in group})
        view.add_row(
            escape(task), escape(model), str(rows), str(len(group)), str(failed), f"{hours:.2f}"
        )
    _wide().print(view)
    for one in runs[-5:]:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.started))
        typer.echo(
            f"run {one.id} ({one.title}): {one.state}, {one.engine}, {one.workers} workers, "
            f"started {when}, {span(one.wall)}"
        )
    typer.echo(f"in flight: {claimed} fits")
    errors = Counter(r.error.strip().splitlines()[-1] for r in records if r.error)
    for message, count in errors.most_common(5):
        typer.echo(f"failed {count} times: {message}")
    if log and log_path(store).exists():
        lines = log_path(store).read_text("utf-8", errors="replace").splitlines(keepends=True)
        typer.echo("".join(lines[-log:]))


def table(
    store: READ_STORE = _RESULTS,
    format: Annotated[Format, typer.Option(help="Of the table.")] = Format.terminal,
    out: Annotated[Path | None, typer.Option(help="A file; printed if not given.")] = None,
    task: Annotated[str | None, typer.Option(help="This task only.")] = None,
    every: Annotated[
        bool, typer.Option("--every", help="Every row, not the one that validation selects.")
    ] = False,
    costs: Annotated[bool, typer.Option("--costs", help="Hours instead of results.")] = False,
) -> None:
    """Print the results of a store, a table a task, the paper's numbers beside ours."""
    with explained("table"):
        if out is not None:
            check_output(out, store)
        with Store(store, create=False) as there:
            records = there.records(predictions=False, task=task)
            runs = [(one.wall, one.workers) for one in there.runs()]
        if not records:
            raise ValueError(f"no fits{f' of {task!r}' if task else ''} in {os.fspath(store)!r}")
        found: Sequence[Any] = (
            [tables.costs(records, runs)] if costs else tables.tables(records, every=every)
        )
        if format is Format.terminal and out is None:
            for one in found:
                _wide().print(tables.rich_table(one))
            return
        form = Format.markdown if format is Format.terminal else format
        write = {"markdown": tables.markdown, "latex": tables.latex, "csv": tables.csv_text}
        text = "\n".join(write[form.value](one) for one in found)
        if out is None:
            typer.echo(text)
        else:
            write_text(out, text)
            typer.echo(f"Written: {out.resolve()}")


def reproduce(
    study: Annotated[Study, typer.Argument(help="Which of the paper's tables.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="120 clouds a task, 2 folds, at most 30 epochs.")
    ] = False,
    table: Annotated[
        Path | None, typer.Option(help="The table of cells that the organoid tasks are made of.")
    ] = None,
    drop_unmatched: DROP = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the tables.")] = None,
    store: Annotated[
        Path | None, typer.Option("--store", help="A SQLite file; in the folder if not given.")
    ] = None,
    engine: ENGINE = EngineName.local,
    workers: WORKERS = None,
    devices: DEVICES = None,
    address: ADDRESS = None,
    retry: RETRY = False,
) -> None:
    """Run the comparison behind a table of the paper, and write ours beside it.

    Synthetic tasks are made; organoid tasks are prepared from a table of cells.
    """
    name = study.value + ("-quick" if quick else "")
    folder = out or Path(name)
    with explained("reproduce"):
        if (study is Study.pdo) != (table is not None):
            raise ValueError("the organoid study, and only that, takes a table of cells: --table")
        if study is Study.pdo and quick:
            raise ValueError("--quick is for synthetic tasks")
        folder.mkdir(parents=True, exist_ok=True)
        if table is not None:
            _prepare_organoids(table, folder / "tasks", drop_unmatched)
        read = read_manifest(name)
        path = store or folder / "results.db"
        found = _carry_out(read, path, _engine(engine, workers, devices, address), retry)
        written = write_results(found, read, path, folder, name)
    _print_tables(found, read.rows())
    for file in written:
        typer.echo(f"Written: {file.resolve()}")


def _prepare_organoids(table: Path, folder: Path, drop_unmatched: bool) -> None:
    """Prepare all organoid tasks, and have them found there by name."""
    from pointforms.paper.organoids.catalogue import VARIABLE
    from pointforms.paper.organoids.prepare import Options, prepare
    from pointforms.paper.organoids.table import CellTable

    with track(CellTable(table).rows(), "cells", unit="cells") as advance:
        options = Options(drop_unmatched=drop_unmatched)
        prepare(table, folder, options=options, advance=advance)
    os.environ[VARIABLE] = str(folder.resolve())  # which workers see too


def memory(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's name, or a file.")],
    format: Annotated[Format, typer.Option(help="Of the table.")] = Format.terminal,
) -> None:
    """Print the memory of Gram fields for k = 0..3: dense, as the paper has it, and ours."""
    from pointforms.paper.memory_table import memory_rows, memory_sheet
    from pointforms.tasks import find

    with explained("memory"):
        sheet = memory_sheet(memory_rows(find(task)))
    if format is Format.terminal:
        _wide().print(tables.rich_table(sheet))
        return
    write = {"markdown": tables.markdown, "latex": tables.latex, "csv": tables.csv_text}
    typer.echo(write[format.value](sheet))


def export(
    store: READ_STORE, out: Annotated[Path, typer.Argument(help="A CSV file to write.")]
) -> None:
    """Write the finished fits of a store as a compact CSV, without predictions."""
    with explained("export"), Store(store, create=False) as there:
        check_output(out, store)
        count = write_csv(there.records(predictions=False), out)
    typer.echo(f"{count} fits\nWritten: {out.resolve()}")


def import_fits(
    source: Annotated[Path, typer.Argument(metavar="CSV", help="Written by `npf export`.")],
    store: STORE = _RESULTS,
) -> None:
    """Take finished fits of a CSV into a store, so that a sweep goes on from there."""
    with explained("import"):
        records = read_csv(source)
        with Store(store) as there:
            new = there.finish(None, records)
    typer.echo(f"{len(records)} fits, {new} of them new\nStore: {store.resolve()}")


def register(app: typer.Typer) -> None:
    """Add the commands to `npf`."""
    for command in (run, sweep, plan, status, table, reproduce, memory, export):
        app.command()(command)
    app.command("import")(import_fits)


def _settings(texts: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE, the value as in TOML; a bare word is text."""
    import tomllib

    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"--set {text!r}: expected NAME=VALUE")
        try:
            found[name.strip()] = tomllib.loads(f"x = {value}")["x"]
        except tomllib.TOMLDecodeError:
            found[name.strip()] = value.strip()
    return found


def _engine(
    name: EngineName, workers: int | None, devices: str | None, address: str | None
) -> Engine:
    if name is EngineName.ray:
        from pointforms.bench.ray_engine import RayEngine

        if devices is not None:
            raise ValueError("--devices is for the local engine: Ray places fits by itself")
        return RayEngine(address, workers)
    if address is not None:
        raise ValueError("--address is for a cluster: --engine ray")
    names = tuple(part.strip() for part in devices.split(",")) if devices is not None else ()
    for one in names:
        try:
            torch.empty(0, device=one)
        except (RuntimeError, AssertionError) as error:  # unknown, or not on this machine
            raise ValueError(f"--devices {devices}: {str(error).splitlines()[0]}") from None
    return LocalEngine(workers or os.cpu_count() or 1, names)


def _carry_out(manifest: Manifest, path: Path, engine: Engine, retry: bool) -> list[Record]:
    """Run a manifest, and give the records of its rows."""
    with Store(path) as store:
        with track(manifest.fits, "fits", unit="fits") as advance:
            outcome = run_units(manifest.units(), store, engine, manifest.title, retry, advance)
        wanted = set(manifest.rows())
        found = [record for record in store.records(predictions=False) if record.row in wanted]
    typer.echo(
        f"{outcome.trained} fits trained in {span(outcome.seconds)}, {outcome.failed} failed, "
        f"{outcome.found} were there. Store: {path.resolve()}"
    )
    return found


def _print_tables(records: Sequence[Record], rows: Sequence[Row]) -> None:
    for one in tables.tables(records, rows):
        _wide().print(tables.rich_table(one))
    errors = [record for record in records if record.error]
    if errors:
        typer.echo(f"{len(errors)} fits failed; the first:\n{errors[0].error}", err=True)


def _wide() -> Console:
    """Tables keep their rows whole where there is no terminal to fit."""
    return console if console.is_terminal else Console(width=200)

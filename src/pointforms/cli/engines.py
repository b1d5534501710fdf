"""The engine that a command trains with, and the tables it prints afterwards."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pointforms import bench
from pointforms._version import __version__
from pointforms.cli import options
from pointforms.cli.console import echo, print_summary, print_table, use_one_thread
from pointforms.support.files import check_output
from pointforms.support.formatting import duration
from pointforms.support.progress import track
from pointforms.tasks.catalogue import full_size

if TYPE_CHECKING:
    from pointforms.bench.running import Engine

_NAMED = 3  # rows with failed fits that a message names


def make_engine(
    name: options.Engine, workers: int | None, devices: str | None, address: str | None
) -> Engine:
    """Return the engine that the options of a command describe."""
    if name is options.Engine.ray:
        if devices is not None:
            raise ValueError(f"--devices {devices}: the Ray engine places fits by itself")
        return bench.RayEngine(address, workers)
    if address is not None:
        raise ValueError(f"--address {address}: needs --engine ray")
    import torch

    names = tuple(options.column_names(devices) or ())
    for device in names:
        try:
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError) as error:  # unknown, or not on this machine
            raise ValueError(f"--devices {devices}: {str(error).splitlines()[0]}") from None
    return bench.LocalEngine(workers or os.cpu_count() or 1, names)


def train(manifest: bench.Manifest, path: Path, engine: Engine, retry: bool) -> list[bench.Record]:
    """Train the missing fits of a manifest with a progress bar, and return all of its records."""
    from pointforms.bench.moved_files import changed_files, records_of
    from pointforms.bench.running import check_tasks, checked_task

    use_one_thread()
    units = manifest.units()
    if not path.exists():
        check_output(path)
        check_tasks(units)  # as the run does, but a wrong task leaves no empty store behind
    for size in dict.fromkeys(unit.row.size for unit in units):
        if full_size(size.task) is None and (summary := checked_task(size).summary) is not None:
            print_summary(Path(size.task).name, summary)
    with bench.Store(path) as store:
        for note in changed_files(manifest.rows(), store.keys()):
            echo(note)
        try:
            with track(manifest.fits, "fits", unit="fits") as advance:
                outcome = bench.run(units, store, engine, manifest.title, retry, advance)
        except KeyboardInterrupt as error:
            error.add_note(f"finished fits are in {path}, and the same command trains the rest")
            raise
        records = records_of(manifest.rows(), store.records(predictions=False))
    echo(
        f"{outcome.trained} fits trained in {duration(outcome.seconds)}, {outcome.failed} failed, "
        f"{outcome.already_stored} already in the store. Store: {path.resolve()}"
    )
    others = Counter(record.version for record in records if record.version != __version__)
    for version, count in sorted(others.items()):
        echo(
            f"{count} of these fits come from version {version}: this version, {__version__}, may "
            "give other numbers"
        )
    return records


def write_predictions(manifest: bench.Manifest, store: Path, out: Path) -> None:
    """Write what the fits of a manifest predict for the clouds of their test folds."""
    from pointforms.bench.fold_predictions import fold_predictions
    from pointforms.bench.moved_files import records_of
    from pointforms.support.table_files import write_table

    wanted = {key for unit in manifest.units() for key in unit.keys}
    with bench.Store(store, create=False) as opened:
        found = records_of(manifest.rows(), opened.records())
    records = [r for r in found if (r.row.key, r.fold, r.seed) in wanted]
    table = fold_predictions(records)
    if not table.rows:
        raise ValueError(
            "the store has no predictions of these fits: those that were imported have none"
        )
    write_table(table, out)
    echo(f"Predictions of test clouds: {out.resolve()}")


def print_results(records: Sequence[bench.Record], rows: Sequence[bench.Row], wide: bool) -> None:
    """Print one table of results per task."""
    from pointforms.paper.numbers import paper_value

    for table in bench.results_tables(records, rows, published=paper_value):
        print_table(table, wide)


def exit_if_failed(records: Sequence[bench.Record], manifest: bench.Manifest, path: Path) -> None:
    """Say in one line which fits failed, in this run or before, and exit with status 1."""
    wanted = {key for unit in manifest.units() for key in unit.keys}
    errors = [r for r in records if r.error and (r.row.key, r.fold, r.seed) in wanted]
    if not errors:
        return
    where = Counter(f"{record.row.model} on {record.row.size.title}" for record in errors)
    named = [f"{count} of {name}" for name, count in where.most_common(_NAMED)]
    rest = [f"{len(where) - _NAMED} other rows"] * (len(where) > _NAMED)
    echo(
        f"{len(errors)} fits failed ({', '.join(named + rest)}), the first with "
        f"{errors[0].reason}; `--retry-failed` tries them again, `npf status {path} --errors` "
        "shows the errors",
        err=True,
    )
    raise typer.Exit(1)

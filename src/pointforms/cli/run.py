"""`npf run`: fit models on one task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pointforms import bench
from pointforms.cli import options
from pointforms.cli.engines import (
    exit_if_failed,
    make_engine,
    print_results,
    train,
    write_predictions,
)
from pointforms.cli.file_options import FileArguments, takes_file_options
from pointforms.support.files import check_output
from pointforms.support.table_files import check_table_path


@takes_file_options
def run(
    task: options.TASK,
    model: Annotated[
        list[str],
        typer.Argument(metavar="MODEL", help="One or more models (`npf models` lists them)."),
    ],
    folds: Annotated[int, typer.Option(min=1, max=5, help="Number of the five folds to use.")] = 5,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds per fold.")] = 1,
    clouds: options.CLOUDS = None,
    points: options.POINTS = None,
    settings: options.SETTINGS = None,
    store: options.STORE = options.RESULTS,
    engine: options.ENGINE = options.Engine.local,
    workers: options.WORKERS = None,
    devices: options.DEVICES = None,
    address: options.ADDRESS = None,
    retry: options.RETRY = False,
    wide: options.WIDE = False,
    predictions: Annotated[
        Path | None,
        typer.Option(
            help="Table to write what each fit predicts for the clouds of its test fold: .csv or "
            ".parquet (default: none)."
        ),
    ] = None,
    *,
    file: FileArguments,
) -> None:
    """Fit models on the folds of a task and print the results.

    A file is described before anything is trained; columns that look like a leak are refused.
    Fits that the store already has are not trained again. The exit status is 1 if any fit of the
    command has failed, also in an earlier run.
    """
    from pointforms.bench.sweep import read_sweep
    from pointforms.tasks.catalogue import resolve

    resolve(task, Path())  # an error of the task itself, not of a manifest with one
    if predictions is not None:
        check_table_path(predictions)
        check_output(predictions, Path(task), store)
    content: dict[str, Any] = {"tasks": [task], "models": model, "folds": folds}
    content |= {"seeds": seeds, "options": options.parse_settings(settings or [])}
    content |= {"reading": file.given} if file.given else {}
    content |= {k: v for k, v in (("clouds", clouds), ("points", points)) if v is not None}
    sweep = read_sweep(content)
    manifest = bench.Manifest(f"{task}: {', '.join(model)}", (sweep,))
    records = train(manifest, store, make_engine(engine, workers, devices, address), retry)
    print_results(records, manifest.rows(), wide)
    if predictions is not None:
        write_predictions(manifest, store, predictions)
    exit_if_failed(records, manifest, store)

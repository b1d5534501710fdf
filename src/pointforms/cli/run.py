"""`npf run`: fit models on one task."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pointforms import bench
from pointforms.cli import options
from pointforms.cli.engines import exit_if_failed, make_engine, print_results, train


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
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Option of the models, its value written as in TOML; may be repeated.",
        ),
    ] = None,
    store: options.STORE = options.RESULTS,
    engine: options.ENGINE = options.Engine.local,
    workers: options.WORKERS = None,
    devices: options.DEVICES = None,
    address: options.ADDRESS = None,
    retry: options.RETRY = False,
    wide: options.WIDE = False,
) -> None:
    """Fit models on the folds of a task and print the results.

    Fits that the store already has are not trained again. The exit status is 1 if any fit of the
    command has failed, also in an earlier run.
    """
    from pointforms.bench.sweep import read_sweep

    content: dict[str, Any] = {"tasks": [task], "models": model, "folds": folds}
    content |= {"seeds": seeds, "options": options.parse_settings(settings or [])}
    content |= {k: v for k, v in (("clouds", clouds), ("points", points)) if v is not None}
    sweep = read_sweep(content)
    manifest = bench.Manifest(f"{task}: {', '.join(model)}", (sweep,))
    records = train(manifest, store, make_engine(engine, workers, devices, address), retry)
    print_results(records, manifest.rows(), wide)
    exit_if_failed(records, manifest, store)

"""`npf plan`: what a manifest amounts to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointforms import bench
from pointforms.cli import options
from pointforms.cli.console import echo, print_table


def plan(
    manifest: options.MANIFEST,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            help="SQLite file of fits: those it has are not counted as left, and their times make "
            "the estimate.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes that train.")] = 2,
    wide: options.WIDE = False,
) -> None:
    """Print the rows and fits of a manifest, and an estimate of the time they take."""
    from pointforms.bench.moved_files import changed_files
    from pointforms.bench.plan import plan as make_plan
    from pointforms.bench.plan import plan_table

    content = bench.read_manifest(manifest)
    if store is None:
        estimate = make_plan(content)
    else:
        with bench.Store(store, read_only=True) as opened:
            keys, seconds = opened.keys(), opened.seconds()
        for note in changed_files(content.rows(), keys):
            echo(note)
        estimate = make_plan(content, keys, seconds)
    print_table(plan_table(estimate, workers), wide)

"""`npf import`: fits from CSV into a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointforms import bench
from pointforms.cli import options
from pointforms.cli.console import echo


def import_fits(
    source: Annotated[
        Path, typer.Argument(metavar="CSV", help="CSV file that `npf export` has written.")
    ],
    store: options.STORE = options.RESULTS,
) -> None:
    """Copy the fits of a CSV file into a store, so that a sweep continues from there."""
    records = bench.read_csv(source)
    with bench.Store(store) as opened:
        new = opened.finish(None, records)
    echo(f"{len(records)} fits, {new} of them new\nStore: {store.resolve()}")

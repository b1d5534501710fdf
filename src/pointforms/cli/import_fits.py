"""`npf import`: fits from CSV into a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointforms.cli import options
from pointforms.cli.console import report_errors


def import_fits(
    source: Annotated[
        Path, typer.Argument(metavar="CSV", help="CSV file that `npf export` has written.")
    ],
    store: options.STORE = options.RESULTS,
) -> None:
    """Copy the fits of a CSV file into a store, so that a sweep continues from there."""
    with report_errors("import"):
        from pointforms.bench.fits_csv import read_csv
        from pointforms.bench.store import Store

        records = read_csv(source)
        with Store(store) as there:
            new = there.finish(None, records)
    typer.echo(f"{len(records)} fits, {new} of them new\nStore: {store.resolve()}")

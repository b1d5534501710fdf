"""`npf export`: finished fits as CSV, or a copy of the store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointforms import bench
from pointforms.cli import options
from pointforms.cli.console import echo
from pointforms.support.files import check_output

_STORES = (".db", ".sqlite", ".sqlite3")


def export(
    store: options.READ_STORE,
    out: Annotated[
        Path,
        typer.Argument(
            help="CSV file to write; or, if its name ends in .db, .sqlite or .sqlite3, a new store."
        ),
    ],
) -> None:
    """Write the finished fits of a store as a compact CSV file, or copy the whole store.

    A copy is complete in one file, also while sweeps write to the store.
    """
    check_output(out, store, endings=(".csv", *_STORES))
    with bench.Store(store, read_only=True) as opened:
        if out.suffix.lower() in _STORES:
            opened.copy(out)
            count = len(opened.keys())
        else:
            count = bench.write_csv(opened.records(predictions=False), out)
    echo(f"{count} fits\nWritten: {out.resolve()}")

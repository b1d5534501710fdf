"""`npf export`: finished fits as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointforms import bench
from pointforms.cli import options
from pointforms.cli.console import echo
from pointforms.support.files import check_output


def export(
    store: options.READ_STORE,
    out: Annotated[Path, typer.Argument(help="CSV file to write.")],
) -> None:
    """Write the finished fits of a store as a compact CSV file, without predictions."""
    check_output(out, store)
    with bench.Store(store, create=False) as opened:
        count = bench.write_csv(opened.records(predictions=False), out)
    echo(f"{count} fits\nWritten: {out.resolve()}")

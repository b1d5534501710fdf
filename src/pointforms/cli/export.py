"""`npf export`: finished fits as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointforms.cli import options
from pointforms.cli.console import report_errors


def export(
    store: options.READ_STORE,
    out: Annotated[Path, typer.Argument(help="CSV file to write.")],
) -> None:
    """Write the finished fits of a store as a compact CSV file, without predictions."""
    with report_errors("export"):
        from pointforms.bench.fits_csv import write_csv
        from pointforms.bench.store import Store
        from pointforms.support.files import check_output

        with Store(store, create=False) as there:
            check_output(out, store)
            count = write_csv(there.records(predictions=False), out)
    typer.echo(f"{count} fits\nWritten: {out.resolve()}")

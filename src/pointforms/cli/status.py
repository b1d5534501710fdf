"""`npf status`: what a store holds."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from pointforms.cli import options
from pointforms.cli.console import print_table, report_errors


def status(
    store: options.READ_STORE = options.RESULTS,
    log: Annotated[int, typer.Option(min=0, help="Number of lines of the log to print.")] = 8,
    wide: options.WIDE = False,
) -> None:
    """Print what a store holds, which runs have been made, and what is being trained."""
    with report_errors("status"):
        from pointforms.bench.plan import span
        from pointforms.bench.running import log_path
        from pointforms.bench.status import frequent_errors, status_table
        from pointforms.bench.store import Store

        with Store(store, create=False) as there:
            records, runs, claimed = there.records(predictions=False), there.runs(), there.claimed()
    print_table(status_table(records), wide)
    for run in runs[-5:]:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started))
        typer.echo(
            f"run {run.id} ({run.title}): {run.state}, {run.engine}, {run.workers} workers, "
            f"started {when}, {span(run.wall)}"
        )
    typer.echo(f"being trained: {claimed} fits")
    for message, count in frequent_errors(records):
        typer.echo(f"failed {count} times: {message}")
    if log and log_path(store).exists():
        lines = log_path(store).read_text("utf-8", errors="replace").splitlines(keepends=True)
        typer.echo("".join(lines[-log:]))

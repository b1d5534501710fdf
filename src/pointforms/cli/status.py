"""`npf status`: what a store holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Annotated

import typer

from pointforms import bench
from pointforms.cli import options
from pointforms.cli.console import echo, print_table


def status(
    store: options.READ_STORE = options.RESULTS,
    log: Annotated[int, typer.Option(min=0, help="Number of lines of the log to print.")] = 8,
    errors: Annotated[
        bool, typer.Option("--errors", help="Print the whole text of every error.")
    ] = False,
    wide: options.WIDE = False,
) -> None:
    """Print what a store holds, which runs have been made, and what is being trained."""
    from pointforms.bench.run_log import log_path

    with bench.Store(store, read_only=True) as opened:
        records, runs = opened.records(predictions=False), opened.runs()
        claimed = opened.claimed()
    print_table(replace(bench.costs_table(records), title=f"{len(records)} fits", notes=()), wide)
    print_table(bench.runs_table(runs[-5:]), wide)
    echo(f"being trained: {claimed} fits")
    failed = Counter(r.error if errors else r.reason for r in records if r.error)
    for message, count in failed.most_common(None if errors else 5):
        echo(f"failed {count} times: {message}")
    if failed:
        echo("`--retry-failed` of `npf run` and `npf sweep` tries failed fits again")
    if log and log_path(store).exists():
        lines = log_path(store).read_text("utf-8", errors="replace").splitlines(keepends=True)
        echo("".join(lines[-log:]))

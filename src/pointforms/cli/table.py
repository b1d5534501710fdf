"""`npf table`: the results of a store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from pointforms import bench
from pointforms.cli import options
from pointforms.cli.console import echo, print_table
from pointforms.support.files import check_output, write_text


def table(
    store: options.READ_STORE = options.RESULTS,
    format: options.FORMAT = options.Format.terminal,
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: print the tables).")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="Title or name of the task to show, or its file (default: all)."),
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--every", help="Show every row, not only those that validation selects."),
    ] = False,
    costs: Annotated[
        bool, typer.Option("--costs", help="Show hours of computing instead of results.")
    ] = False,
    reference: options.REFERENCE = None,
    wide: options.WIDE = False,
) -> None:
    """Print the results of a store, one table per task, with the paper's numbers beside ours.

    With several tasks, a last table has the mean rank of every model over them, and its mean
    difference to the reference.
    """
    from pointforms.bench.results_table import results_table
    from pointforms.bench.task_names import tasks_called
    from pointforms.paper.numbers import paper_value

    if out is not None:
        check_output(out, store)
    with bench.Store(store, read_only=True) as opened:
        records = opened.records(predictions=False)
        runs = [(run.wall, run.workers) for run in opened.runs()]
    if not records:
        raise ValueError(f"no fits in {os.fspath(store)!r}")
    if task is not None:
        wanted = tasks_called(task, (record.row.size for record in records))
        records = [record for record in records if record.row.size in wanted]
    if costs:
        tables = [bench.costs_table(records, runs)]
    else:
        comparisons = bench.compare(
            records, every=every, published=paper_value, reference=reference
        )
        tables = [results_table(one) for one in comparisons]
        if len(comparisons) > 1:
            tables.append(bench.across_tasks_table(comparisons))
    if out is None:
        for one in tables:
            print_table(one, wide, format)
        return
    form = options.Format.markdown if format is options.Format.terminal else format
    write_text(out, "\n".join(one.render(form) for one in tables))
    echo(f"Written: {out.resolve()}")

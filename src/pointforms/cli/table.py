"""`npf table`: the results of a store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from pointforms.cli import options
from pointforms.cli.console import print_table, report_errors


def table(
    store: options.READ_STORE = options.RESULTS,
    format: options.FORMAT = options.Format.terminal,
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: print the tables).")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Name of the one task to show (default: all).")
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--every", help="Show every row, not only those that validation selects."),
    ] = False,
    costs: Annotated[
        bool, typer.Option("--costs", help="Show hours of computing instead of results.")
    ] = False,
    wide: options.WIDE = False,
) -> None:
    """Print the results of a store, one table per task, with the paper's numbers beside ours."""
    with report_errors("table"):
        from pointforms.bench.costs import costs_table
        from pointforms.bench.results_table import results_tables
        from pointforms.bench.store import Store
        from pointforms.paper.numbers import paper_value
        from pointforms.support.files import check_output, write_text

        if out is not None:
            check_output(out, store)
        with Store(store, create=False) as there:
            records = there.records(predictions=False, task=task)
            runs = [(one.wall, one.workers) for one in there.runs()]
        if not records:
            raise ValueError(f"no fits{f' of {task!r}' if task else ''} in {os.fspath(store)!r}")
        if costs:
            tables = [costs_table(records, runs)]
        else:
            tables = results_tables(records, every=every, reference=paper_value)
        if format is options.Format.terminal and out is None:
            for one in tables:
                print_table(one, wide)
            return
        form = options.Format.markdown if format is options.Format.terminal else format
        text = "\n".join(one.render(form.value) for one in tables)
        if out is None:
            typer.echo(text)
        else:
            write_text(out, text)
            typer.echo(f"Written: {out.resolve()}")

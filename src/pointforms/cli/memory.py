"""`npf memory`: how much memory Gram fields need."""

from __future__ import annotations

import typer

from pointforms.cli import options
from pointforms.cli.console import computing, print_table


def memory(
    task: options.TASK,
    format: options.FORMAT = options.Format.terminal,
    wide: options.WIDE = False,
) -> None:
    """Print the memory of Gram fields for degrees 0 to 3: dense as in the paper, and ours."""
    with computing("memory"):
        from pointforms.paper.memory_table import memory_rows, memory_table
        from pointforms.tasks import find

        table = memory_table(memory_rows(find(task)))
    if format is options.Format.terminal:
        print_table(table, wide)
    else:
        typer.echo(table.render(format.value))

"""`npf memory`: how much memory Gram fields need."""

from __future__ import annotations

from pointforms.cli import options
from pointforms.cli.console import print_table, use_one_thread


def memory(
    task: options.TASK,
    format: options.FORMAT = options.Format.terminal,
    wide: options.WIDE = False,
) -> None:
    """Print the memory of Gram fields for degrees 0 to 3: dense as in the paper, and ours."""
    from pointforms.paper.memory_table import memory_rows, memory_table
    from pointforms.tasks import find

    use_one_thread()
    table = memory_table(memory_rows(find(task)))
    print_table(table, wide, format)

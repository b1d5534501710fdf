"""`npf memory`: how much memory Gram fields need."""

from __future__ import annotations

from pathlib import Path

from pointforms.cli import options
from pointforms.cli.console import print_table, use_one_thread
from pointforms.cli.file_options import FileArguments, takes_file_options


@takes_file_options
def memory(
    task: options.TASK,
    format: options.FORMAT = options.Format.terminal,
    wide: options.WIDE = False,
    *,
    file: FileArguments,
) -> None:
    """Print the memory of Gram fields for degrees 0 to 3: dense as in the paper, and ours."""
    from pointforms.io import read_file
    from pointforms.paper.memory_table import memory_rows, memory_table
    from pointforms.tasks.catalogue import find, is_file

    use_one_thread()
    if is_file(task):
        rows = memory_rows(task, read_file(Path(task), file.options(), labels=False).clouds)
    else:
        rows = memory_rows(task, find(task, options=file.for_task()).clouds)
    print_table(memory_table(rows), wide, format)

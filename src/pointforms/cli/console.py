"""What the commands share: printing, errors as one line, and one thread per process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from pointforms.support.table import Table

# Columns of output that goes to a file or pipe, so that the rows of a table stay in one piece.
_FILE_WIDTH = 200


@contextmanager
def report_errors(command: str) -> Iterator[None]:
    """Print expected errors as one line and exit with status 2."""
    try:
        yield
    except (ValueError, TypeError, ImportError, OSError) as error:
        typer.echo(f"npf {command}: {error}", err=True)
        raise typer.Exit(2) from None


@contextmanager
def computing(command: str) -> Iterator[None]:
    """Compute on one thread, and print expected errors as one line.

    Small tensors run fastest on one thread; work that can be shared is shared by processes.
    """
    with report_errors(command):
        import torch

        torch.set_num_threads(1)
        yield


def console() -> Console:
    """Return a console for standard output: as wide as the terminal, or wide for a file."""
    from rich.console import Console

    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=_FILE_WIDTH)


def print_table(table: Table, wide: bool = False) -> None:
    """Print a table, with all of its columns if `wide`."""
    console().print(table.terminal(wide))


def print_pairs(pairs: Mapping[str, str]) -> None:
    """Print names and values in two columns."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in pairs.items():
        grid.add_row(name, Text(value, style="bold"))
    console().print(grid)

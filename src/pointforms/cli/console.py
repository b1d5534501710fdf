"""What the commands share: printing, errors as one line, and one thread per process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from rich.console import Console

    from pointforms.support.table import Table

# Columns of output that goes to a file or pipe, so that the rows of a table stay in one piece.
_FILE_WIDTH = 200


class Commands(TyperGroup):
    """A group of commands that print expected errors as one line and exit with status 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader has seen enough
            raise
        except (ValueError, TypeError, ImportError, OSError) as error:
            names = ["npf", ctx.info_name if ctx.parent else "", ctx.invoked_subcommand or ""]
            typer.echo(f"{' '.join(filter(None, names))}: {error}", err=True)
            raise typer.Exit(2) from None


def use_one_thread() -> None:
    """Compute on one thread: small tensors run fastest so, and work is shared by processes."""
    import torch

    torch.set_num_threads(1)


def console() -> Console:
    """Return a console for standard output: as wide as the terminal, or wide for a file."""
    from rich.console import Console

    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=_FILE_WIDTH)


def print_table(table: Table, wide: bool = False, form: str = "terminal") -> None:
    """Print a table, in a terminal with all of its columns if `wide`."""
    if form == "terminal":
        console().print(table.terminal(wide))
    else:
        typer.echo(table.render(form))


def print_pairs(pairs: Mapping[str, str]) -> None:
    """Print names and values in two columns."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in pairs.items():
        grid.add_row(name, Text(value, style="bold"))
    console().print(grid)

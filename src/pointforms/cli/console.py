"""What the commands share: printing, errors as one line, and one thread per process."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from pointforms.cli.interrupts import Terminated, exit_status, sigterm_interrupts
from pointforms.support.formatting import visible, warning_line

if TYPE_CHECKING:
    from rich.console import Console

    from pointforms.io.file_summary import FileSummary
    from pointforms.support.table import Table

# Columns of output that goes to a file or pipe, so that the rows of a table stay in one piece.
_FILE_WIDTH = 200


class Commands(TyperGroup):
    """A group of commands that say in one line why they end early.

    The exit status is 2 after an expected error, 130 after Ctrl-C and 143 after SIGTERM.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for command in self.commands.values():
            _join_lines(command)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            with _whole_command() if ctx.parent is None else nullcontext():
                return super().invoke(ctx)
        except BrokenPipeError:  # the reader has seen enough
            raise
        except KeyboardInterrupt as error:
            reason = "ended by SIGTERM" if isinstance(error, Terminated) else "interrupted"
            _say(ctx, "; ".join([reason, *getattr(error, "__notes__", ())]))
            raise typer.Exit(exit_status(error)) from None
        except (ValueError, TypeError, ImportError, OSError) as error:
            _say(ctx, str(error))
            raise typer.Exit(2) from None


def _join_lines(command: Any) -> None:
    """Let the terminal break the lines of help texts; docstrings have breaks of their own.

    Groups of commands are joined command by command.
    """
    if command.help:
        paragraphs = command.help.split("\n\n")
        command.help = "\n\n".join(" ".join(part.split()) for part in paragraphs)
    for inner in getattr(command, "commands", {}).values():
        _join_lines(inner)


@contextmanager
def _whole_command() -> Iterator[None]:
    """What holds while a command runs: SIGTERM is as Ctrl-C, and warnings are one line."""
    before, warnings.formatwarning = warnings.formatwarning, warning_line
    try:
        with sigterm_interrupts():
            yield
    finally:
        warnings.formatwarning = before


def _say(ctx: Any, message: str) -> None:
    """Print one line about a command to standard error."""
    names = ["npf", ctx.info_name if ctx.parent else "", ctx.invoked_subcommand or ""]
    echo(visible(f"{' '.join(filter(None, names))}: {message}"), err=True)


def echo(text: str, err: bool = False) -> None:
    """Print text, which may have several lines, without anything that controls the terminal."""
    typer.echo(visible(text, lines=True), err=err)


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
        if table.brief is not None and not wide:
            echo("--wide shows all columns and notes.")
    else:
        echo(table.render(form))


def print_summary(name: str, summary: FileSummary) -> None:
    """Print what was understood of a file."""
    print_pairs({"file": name, **summary.entries})


def print_pairs(pairs: Mapping[str, str]) -> None:
    """Print names and values in two columns."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in pairs.items():
        grid.add_row(Text(visible(name)), Text(visible(value), style="bold"))
    console().print(grid)

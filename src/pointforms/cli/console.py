"""What the commands share: printing, and errors in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.table import Table

console = Console()


@contextmanager
def explained(command: str) -> Iterator[None]:
    """What a user did wrong as one line, not as a traceback."""
    try:
        yield
    except (ValueError, TypeError, ImportError, OSError) as error:
        typer.echo(f"npf {command}: {error}", err=True)
        raise typer.Exit(2) from None


def print_pairs(pairs: dict[str, str]) -> None:
    view = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in pairs.items():
        view.add_row(name, f"[bold]{value}[/bold]")
    console.print(view)

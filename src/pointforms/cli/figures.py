"""The `npf figures` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from pointforms.cli.console import console, explained
from pointforms.support.progress import track


def figures(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="All, if none is given.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("figures"),
    format: Annotated[str, typer.Option(help="svg, pdf or png.")] = "svg",
    quick: Annotated[bool, typer.Option("--quick", help="Less training, fewer seeds.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Only say which there are.")] = False,
) -> None:
    """Draw the figures of the paper, each from what is computed for it here and now."""
    from pointforms.paper.figures.catalogue import FIGURES, paper_figure
    from pointforms.plot.style import picture_path, save
    from pointforms.support.extras import need

    if listed:
        view = Table(title="Figures", title_justify="left")
        view.add_column("figure", no_wrap=True)
        view.add_column("shows")
        for name, figure in FIGURES.items():
            view.add_row(name, figure.shows)
        console.print(view)
        return
    with explained("figures"):
        need("matplotlib", "plot")
        # all names and the format, before any work
        chosen = {name: paper_figure(name) for name in names or FIGURES}
        paths = {name: picture_path(out / f"{name}.{format.lstrip('.')}") for name in chosen}
        with track(len(chosen), "drawing") as advance:
            for name, figure in chosen.items():
                save(figure.make(quick), paths[name])
                advance(1)
    for path in paths.values():
        typer.echo(f"Picture: {path.resolve()}")

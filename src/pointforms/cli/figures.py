"""`npf figures`: the figures of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointforms.cli.console import echo, print_table, use_one_thread
from pointforms.support.table import Column, Table


def figures(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Names of figures (default: all)."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("figures"),
    format: Annotated[str, typer.Option(help="File format: svg, pdf or png.")] = "svg",
    quick: Annotated[bool, typer.Option("--quick", help="Train less and use fewer seeds.")] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="List the figures without drawing them.")
    ] = False,
) -> None:
    """Draw the figures of the paper, each from values that are computed for it."""
    from pointforms.paper.figures.catalogue import FIGURES, paper_figure
    from pointforms.plot.style import picture_path, save
    from pointforms.support.extras import need
    from pointforms.support.progress import track

    use_one_thread()
    if listed:
        columns = [Column("figure", "figure", left=True), Column("shows", "shows", left=True)]
        rows = [{"figure": name, "shows": one.shows} for name, one in FIGURES.items()]
        print_table(Table("Figures", columns, rows))
        return
    need("matplotlib", "plot")
    # check all names and the format before any work
    chosen = {name: paper_figure(name) for name in names or FIGURES}
    paths = {name: picture_path(out / f"{name}.{format.lstrip('.')}") for name in chosen}
    with track(len(chosen), "drawing") as advance:
        for name, figure in chosen.items():
            save(figure.make(quick), paths[name])
            advance(1)
    for path in paths.values():
        echo(f"Picture: {path.resolve()}")

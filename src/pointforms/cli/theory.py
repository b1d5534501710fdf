"""The `npf theory` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pointforms.cli.console import console, explained


def theory(
    out: Annotated[Path, typer.Option(help="Folder for the tables and pictures.")] = Path("theory"),
    quick: Annotated[bool, typer.Option("--quick", help="Few seeds, smaller samples.")] = False,
    seeds: Annotated[
        int | None, typer.Option(min=2, help="Samples behind every mean; 20, or 4 if quick.")
    ] = None,
) -> None:
    """Measure what the theory promises, where the truth is known.

    Density correction on unevenly sampled circles; then errors of Gram fields and pairings that
    fall as samples of a circle, a sphere and a torus grow.
    """
    from pointforms.paper.theory import run_checks
    from pointforms.paper.theory.tables import consistency_table, density_table

    with explained("theory"):
        report = run_checks(out, seeds=seeds, quick=quick)
    # a file has no width: keep rows whole
    view = console if console.is_terminal else Console(width=120)
    view.print(density_table(report.density).terminal())
    view.print(consistency_table(report.consistency).terminal())
    if report.rising:
        names = ", ".join(f"{r.manifold} k = {r.degree} {r.error}" for r in report.rising)
        view.print(f"not falling at every step: {names}")
    for path in report.tables + report.pictures:
        kind = "Table" if path.suffix == ".csv" else "Picture"
        typer.echo(f"{kind}: {path.resolve()}")

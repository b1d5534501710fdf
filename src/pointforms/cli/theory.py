"""`npf theory`: what the theory promises, measured where the truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointforms.cli.console import echo, print_table, use_one_thread


def theory(
    out: Annotated[Path, typer.Option(help="Folder for the tables and pictures.")] = Path("theory"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Use fewer seeds and smaller samples.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(min=2, help="Number of samples per mean (default: 20, or 4 with --quick)."),
    ] = None,
) -> None:
    """Measure what the theory promises, where the truth is known.

    First the density correction on unevenly sampled circles; then the errors of Gram fields and
    pairings, which fall as samples of a circle, a sphere and a torus grow.
    """
    from pointforms.paper.theory import run_checks
    from pointforms.paper.theory.tables import consistency_table, density_table

    use_one_thread()
    report = run_checks(out, seeds=seeds, quick=quick)
    print_table(density_table(report.density))
    print_table(consistency_table(report.consistency))
    if report.rising:
        names = ", ".join(f"{r.manifold} k = {r.degree} {r.error}" for r in report.rising)
        echo(f"not falling at every step: {names}")
    for path in report.tables + report.pictures:
        kind = "Table" if path.suffix == ".csv" else "Picture"
        echo(f"{kind}: {path.resolve()}")

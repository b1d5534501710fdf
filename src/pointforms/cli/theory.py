"""The `npf theory` command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from pointforms.cli.console import console, explained

if TYPE_CHECKING:
    from pointforms.paper.theory.consistency import ConsistencyRow
    from pointforms.paper.theory.density import DensityRow


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
    from pointforms.paper.theory.study import run

    with explained("theory"):
        report = run(out, seeds=seeds, quick=quick)
    # a file has no width: keep rows whole
    view = console if console.is_terminal else Console(width=120)
    view.print(density_table(report.density))
    view.print(consistency_table(report.consistency))
    if report.rising:
        names = ", ".join(f"{r.manifold} k = {r.degree} {r.error}" for r in report.rising)
        view.print(f"not falling at every step: {names}")
    for path in report.tables + report.pictures:
        kind = "Table" if path.suffix == ".csv" else "Picture"
        typer.echo(f"{kind}: {path.resolve()}")


def density_table(rows: Sequence[DensityRow]) -> Table:
    """|∫ - π| by κ, for the neighbour counts that suit the noise; the CSV has the others too."""
    main = [row for row in rows if row.main]
    kappas = sorted({row.kappa for row in main})
    counts = {row.noise: row.neighbors for row in main}
    view = Table(
        title=f"Density check: |∫⟨ω, x²ω⟩ - π| on von Mises circles, {main[0].seeds} seeds",
        title_justify="left",
        caption="\n".join(
            f"noise {noise:g}: {count} neighbours" for noise, count in counts.items()
        ),
        caption_justify="left",
    )
    for heading in ("noise", "bandwidth", "spectrum", "density"):
        view.add_column(heading)
    for kappa in kappas:
        view.add_column(f"κ = {kappa:g}", justify="right")
    lines: dict[tuple[str, str, str, str], dict[float, str]] = {}
    for row in main:
        setting = (f"{row.noise:g}", row.bandwidth, row.spectrum, row.density)
        lines.setdefault(setting, {})[row.kappa] = f"{row.error:.3f}±{row.interval:.3f}"
    for key in sorted(lines, key=lambda key: key[0]):
        cells = (lines[key][kappa] for kappa in kappas)
        view.add_row(*key, *cells, end_section=key[-1] == "uncorrected")
    return view


def consistency_table(rows: Sequence[ConsistencyRow]) -> Table:
    """Errors by n, the fitted slope, and the slope of the bound."""
    sizes = rows[0].sizes
    couplings = {
        row.manifold: f"ϑ = {row.theta:.3f}, c₁ = {row.c1:g}, c₂ = {row.c2:g}" for row in rows
    }
    view = Table(
        title=f"Consistency: errors as n grows and ε falls like n^(-ϑ), {rows[0].seeds} seeds",
        title_justify="left",
        caption="\n".join(f"{name}: {values}" for name, values in couplings.items()),
        caption_justify="left",
    )
    for heading in ("manifold", "k", "error"):
        view.add_column(heading)
    for n in sizes:
        view.add_column(f"n = {n}", justify="right")
    for heading in ("slope", "bound"):
        view.add_column(heading, justify="right")
    for before, row in zip((None, *rows), rows, strict=False):
        new = before is None or (before.manifold, before.degree) != (row.manifold, row.degree)
        if new and before is not None:
            view.add_section()
        view.add_row(
            row.manifold if new else "",
            str(row.degree) if new else "",
            row.error,
            *(f"{m:.4f}±{h:.4f}" for m, h in zip(row.means, row.intervals, strict=True)),
            f"{row.slope:+.2f}",
            f"{row.predicted:+.2f}",
        )
    return view

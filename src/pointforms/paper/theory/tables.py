"""The measurements of the theory as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pointforms.paper.theory.consistency import ConsistencyRow
from pointforms.paper.theory.density import DensityRow
from pointforms.support.formatting import estimate
from pointforms.support.statistics import Estimate
from pointforms.support.table import Column, Table


def density_table(rows: Sequence[DensityRow]) -> Table:
    """Return |∫ - π| by κ, for the neighbour counts that suit the noise.

    `density.csv`, which `npf theory` writes, has the other neighbour counts too.
    """
    main = [row for row in rows if row.main]
    settings: dict[tuple[float, str, str, str], dict[str, Any]] = {}
    for row in main:
        key = (row.noise, row.bandwidth, row.spectrum, row.density)
        names = dict(zip(("noise", "bandwidth", "spectrum", "density"), key, strict=True))
        values = settings.setdefault(key, names)
        values[f"κ = {row.kappa:g}"] = Estimate(row.error, row.interval)
    counts = {row.noise: row.neighbors for row in main}
    columns = [Column("noise", "noise", "{:g}".format, left=True)]
    columns += [Column(key, key, left=True) for key in ("bandwidth", "spectrum", "density")]
    kappas = sorted({row.kappa for row in main})
    columns += [Column(f"κ = {kappa:g}", f"κ = {kappa:g}", estimate) for kappa in kappas]
    return Table(
        f"Density check: |∫⟨ω, x²ω⟩ - π| on von Mises circles, {main[0].seeds} seeds",
        columns,
        [settings[key] for key in sorted(settings, key=lambda key: key[0])],
        [f"noise {noise:g}: {count} neighbours" for noise, count in counts.items()],
    )


def consistency_table(rows: Sequence[ConsistencyRow]) -> Table:
    """Return the errors by n, their fitted slope, and the slope of the bound."""
    columns = [Column(key, key, left=True) for key in ("manifold", "k", "error")]
    columns += [Column(f"n = {n}", f"n = {n}", _four_digits) for n in rows[0].sizes]
    columns += [Column(key, key, "{:+.2f}".format) for key in ("slope", "bound")]
    lines = [
        {
            "manifold": row.manifold,
            "k": row.degree,
            "error": row.error,
            **{
                f"n = {n}": Estimate(mean, half)
                for n, mean, half in zip(row.sizes, row.means, row.intervals, strict=True)
            },
            "slope": row.slope,
            "bound": row.predicted,
        }
        for row in rows
    ]
    couplings = {
        row.manifold: f"ϑ = {row.theta:.3f}, c₁ = {row.c1:g}, c₂ = {row.c2:g}" for row in rows
    }
    return Table(
        f"Consistency: errors as n grows and ε falls like n^(-ϑ), {rows[0].seeds} seeds",
        columns,
        lines,
        [f"{name}: {values}" for name, values in couplings.items()],
    )


def _four_digits(value: Estimate) -> str:
    return f"{value.mean:.4f} ± {value.half:.4f}"

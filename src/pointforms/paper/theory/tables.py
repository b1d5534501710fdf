"""Tables of both checks, for the terminal and the page, and as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from pointforms.paper.theory.consistency import ConsistencyRow
from pointforms.paper.theory.density import DensityRow
from pointforms.support.formatting import estimate
from pointforms.support.statistics import Estimate
from pointforms.support.table import Column, Table


def density_table(rows: Sequence[DensityRow]) -> Table:
    """Return |∫ - π| by κ, for the neighbour counts that suit the noise."""
    main = [row for row in rows if row.main]
    kappas = sorted({row.kappa for row in main})
    lines: dict[tuple[float, str, str, str], dict[str, Any]] = {}
    for row in sorted(main, key=lambda row: row.noise):
        setting = (row.noise, row.bandwidth, row.spectrum, row.density)
        names = ("noise", "bandwidth", "spectrum", "density")
        line = lines.setdefault(setting, dict(zip(names, setting, strict=True)))
        line[f"kappa_{row.kappa:g}"] = Estimate(row.error, row.interval)
    columns = [Column("noise", "noise", "{:g}".format, left=True)]
    columns += [Column(name, name, left=True) for name in ("bandwidth", "spectrum", "density")]
    columns += [Column(f"kappa_{kappa:g}", f"κ = {kappa:g}", estimate) for kappa in kappas]
    neighbors = {row.noise: row.neighbors for row in main}
    return Table(
        f"Density check: |∫⟨ω, x²ω⟩ − π| on von Mises circles, {main[0].seeds} seeds",
        columns,
        list(lines.values()),
        [f"noise {noise:g}: {count} neighbours" for noise, count in sorted(neighbors.items())],
    )


def consistency_table(rows: Sequence[ConsistencyRow]) -> Table:
    """Return errors by n, the fitted slope, and the slope of the bound."""
    sizes = rows[0].sizes
    columns = [
        Column("manifold", "manifold", left=True),
        Column("degree", "k"),
        Column("error", "error", left=True),
        *(Column(f"n_{n}", f"n = {n}", _four_digits) for n in sizes),
        Column("slope", "slope", _slope),
        Column("predicted", "bound", _slope),
    ]
    lines = [
        {
            "manifold": row.manifold,
            "degree": row.degree,
            "error": row.error,
            **{
                f"n_{n}": Estimate(mean, half)
                for n, mean, half in zip(row.sizes, row.means, row.intervals, strict=True)
            },
            "slope": row.slope,
            "predicted": row.predicted,
        }
        for row in rows
    ]
    couplings = {
        row.manifold: f"ϑ = {row.theta:.3f}, c₁ = {row.drift_coefficient:g}, "
        f"c₂ = {row.density_exponent:g}"
        for row in rows
    }
    return Table(
        f"Consistency: errors as n grows and ε falls like n^(−ϑ), {rows[0].seeds} seeds",
        columns,
        lines,
        [f"{name}: {values}" for name, values in couplings.items()],
    )


def density_csv(rows: Sequence[DensityRow]) -> str:
    """Return every row of the density check as CSV."""
    return Table("Density check", (), [asdict(row) for row in rows]).csv()


def consistency_csv(rows: Sequence[ConsistencyRow]) -> str:
    """Return every row of the consistency check as CSV, one line per sample size."""
    return Table("Consistency", (), list(_by_size(rows))).csv()


def _by_size(rows: Sequence[ConsistencyRow]) -> Iterator[dict[str, Any]]:
    for row in rows:
        shared = asdict(row)
        columns = {
            "n": shared.pop("sizes"),
            "epsilon": shared.pop("bandwidths"),
            "density_neighbors": shared.pop("density_neighbors"),
            "mean": shared.pop("means"),
            "interval": shared.pop("intervals"),
        }
        for values in zip(*columns.values(), strict=True):
            yield {**shared, **dict(zip(columns, values, strict=True))}


def _four_digits(value: Estimate) -> str:
    return f"{value.mean:.4f}" if value.half is None else f"{value.mean:.4f} ± {value.half:.4f}"


def _slope(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")

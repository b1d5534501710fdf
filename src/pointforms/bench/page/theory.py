"""The theory lab on the page: both checks in their quick form, measured when the page is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, log10
from typing import Any

from pointforms.bench.page.plots import Plot, log_ticks, numbers
from pointforms.paper.theory.consistency import MANIFOLDS, SIZES, ConsistencyRow, consistency
from pointforms.paper.theory.density import KAPPAS, DensityRow, density_check
from pointforms.support.formatting import estimate
from pointforms.support.statistics import Estimate
from pointforms.support.table import Column, Table

# As `npf theory --quick`: seconds, not minutes.
_SEEDS = range(4)
_SIZES = SIZES[:3]
STEPS = len(KAPPAS) + len(MANIFOLDS) * len(_SEEDS)


@dataclass(frozen=True)
class TheoryView:
    """What was measured, as figures and as tables."""

    seeds: int
    density_plots: tuple[Plot, ...]
    density: Table
    local_plots: tuple[Plot, ...]
    global_plots: tuple[Plot, ...]
    consistency: Table


def theory_view(advance: Callable[[int], None] = lambda steps: None) -> TheoryView:
    """Measure both; advances by one `STEPS` times."""
    density = [row for row in density_check(_SEEDS, advance=advance) if row.main]
    rates = consistency(_SEEDS, sizes=_SIZES, advance=advance)
    names = list(dict.fromkeys(row.manifold for row in rates))
    return TheoryView(
        len(_SEEDS),
        tuple(_density_plot(density, noise) for noise in sorted({r.noise for r in density})),
        _density_table(density),
        tuple(_rate_plot(rates, name, ("local",)) for name in names),
        tuple(_rate_plot(rates, name, ("global", "global, volume")) for name in names),
        _rate_table(rates),
    )


_SETTINGS = (
    ("uncorrected", "variable", "raw", "uncorrected", "@c1", "square", "solid"),
    ("corrected", "fixed", "raw", "corrected, fixed bandwidth", "@c3", "triangle-up", "dash"),
    ("corrected", "variable", "raw", "corrected, variable", "@c0", "circle", "solid"),
    ("corrected", "variable", "projector", "corrected, projector", "@c2", "diamond", "dot"),
)


def _density_plot(rows: Sequence[DensityRow], noise: float) -> Plot:
    own = [row for row in rows if row.noise == noise]
    data = []
    for correction, bandwidth, spectrum, name, color, symbol, dash in _SETTINGS:
        found = [
            row
            for row in own
            if (row.density, row.bandwidth, row.spectrum) == (correction, bandwidth, spectrum)
        ]
        data.append(
            _curve(
                name,
                [row.kappa for row in found],
                [row.error for row in found],
                [row.interval for row in found],
                color,
                symbol,
                dash,
            )
        )
    title = "no noise" if noise == 0 else f"noise {noise:g} on the points"
    layout = _layout("concentration κ", "mean error")
    layout["yaxis"] |= {"range": [0, _top(rows)]}
    alt = f"Density check: mean error against κ, {title}."
    return Plot(alt, data, layout, 340, f"{title}, {own[0].neighbors} neighbours".capitalize())


def _top(rows: Sequence[DensityRow]) -> float:
    """Of the axis that figures of all noises share."""
    return 1.05 * max(row.error + _half(row.interval) for row in rows)


def _rate_plot(rows: Sequence[ConsistencyRow], manifold: str, errors: tuple[str, ...]) -> Plot:
    data = []
    for row in rows:
        if row.manifold != manifold or row.error not in errors:
            continue
        volume = row.error == "global, volume"
        kind = f"{', volume' * volume}{'' if row.relative else ' (absolute)'}"
        slope = f"{row.slope:+.2f}".replace("-", "−")
        data.append(
            _curve(
                f"k = {row.degree}{kind}: slope {slope}",
                row.sizes,
                row.means,
                row.intervals,
                "@c0" if row.degree == 1 else "@c1",
                ("circle-open" if volume else "circle")
                if row.degree == 1
                else ("square-open" if volume else "square"),
                "dot" if volume else "solid",
            )
        )
    bound = next(row.predicted for row in rows if row.manifold == manifold)
    slope = f"{bound:+.2f}".replace("-", "−")
    layout = _layout("points n", f"{errors[0]} error")
    layout["xaxis"] |= {"type": "log", "tickvals": list(_SIZES), "ticktext": list(map(str, _SIZES))}
    # one axis for all manifolds
    means = [mean for row in rows if row.error in errors for mean in row.means]
    low, high = 0.7 * min(means), 1.4 * max(means)
    layout["yaxis"] |= {**log_ticks(low, high), "range": [log10(low), log10(high)]}
    title = f"{manifold.capitalize()}; slope of the bound {slope}"
    alt = f"{errors[0].capitalize()} error against n on the {manifold}."
    return Plot(alt, data, layout, 340, title)


def _curve(
    name: str, x: Sequence[float], y: Any, half: Any, color: str, symbol: str, dash: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(x),
        "y": numbers(y, 17),
        "error_y": {
            "type": "data",
            "array": [_half(value) for value in half],
            "color": color,
            "thickness": 1.2,
            "width": 3,
        },
        "line": {"color": color, "dash": dash, "width": 1.8},
        "marker": {"color": color, "symbol": symbol, "size": 7},
        "hovertemplate": f"{name}<br>%{{x}}: %{{y:.3g}}<extra></extra>",
    }


def _layout(x: str, y: str) -> dict[str, Any]:
    return {
        "xaxis": {"title": {"text": x, "standoff": 8}, "zeroline": False},
        "yaxis": {"title": {"text": y, "standoff": 8}, "zeroline": False, "automargin": True},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "margin": {"t": 48, "r": 10, "b": 44, "l": 52},
    }


def _half(value: float | None) -> float:
    """Half an interval, which has no width where there is none."""
    return value if value is not None and isfinite(value) else 0.0


def _density_table(rows: Sequence[DensityRow]) -> Table:
    kappas = sorted({row.kappa for row in rows})
    names = ("noise", "bandwidth", "spectrum", "density")
    lines: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    for row in rows:
        setting = (f"{row.noise:g}", row.bandwidth, row.spectrum, row.density)
        line = lines.setdefault(setting, dict(zip(names, setting, strict=True)))
        line[f"{row.kappa:g}"] = Estimate(row.error, row.interval)
    columns = [Column(name, name, left=True) for name in names]
    columns += [Column(f"{kappa:g}", f"κ = {kappa:g}", estimate) for kappa in kappas]
    return Table("Density check", columns, list(lines.values()))


def _rate_table(rows: Sequence[ConsistencyRow]) -> Table:
    def mean_of(i: int) -> Any:
        return lambda row: Estimate(row.means[i], row.intervals[i])

    columns = [
        Column("manifold", "manifold", left=True),
        Column("error", "error", left=True),
        Column("degree", "k"),
        *(Column(f"n{n}", f"n = {n}", _four_digits, mean_of(i)) for i, n in enumerate(_SIZES)),
        Column("slope", "slope", _slope),
        Column("predicted", "slope of the bound", _slope),
    ]
    return Table.of("Consistency", columns, rows)


def _four_digits(value: Estimate) -> str:
    return f"{value.mean:.4f} ± {value.half:.4f}"


def _slope(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")

"""The theory lab on the page: both checks in their quick form, measured when the page is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

from pointforms.bench.page.grids import Grid, make_grid, number
from pointforms.bench.page.plots import Plot, log_ticks
from pointforms.paper.theory.consistency import MANIFOLDS, SIZES, ConsistencyRow, consistency
from pointforms.paper.theory.density import KAPPAS, DensityRow, density_check

# As `npf theory --quick`: seconds, not minutes.
_SEEDS = range(4)
_SIZES = SIZES[:3]
STEPS = len(KAPPAS) + len(MANIFOLDS) * len(_SEEDS)


@dataclass(frozen=True)
class TheoryView:
    """What was measured, as figures and as tables."""

    seeds: int
    density_plots: tuple[Plot, ...]
    density: Grid
    local_plots: tuple[Plot, ...]
    global_plots: tuple[Plot, ...]
    consistency: Grid


def theory_view(advance: Callable[[int], None] = lambda steps: None) -> TheoryView:
    """Measure both; advances by one `STEPS` times."""
    density = [row for row in density_check(_SEEDS, advance=advance) if row.main]
    rates = consistency(_SEEDS, sizes=_SIZES, advance=advance)
    names = list(dict.fromkeys(row.manifold for row in rates))
    return TheoryView(
        len(_SEEDS),
        tuple(_density_plot(density, noise) for noise in sorted({r.noise for r in density})),
        _density_grid(density),
        tuple(_rate_plot(rates, name, ("local",)) for name in names),
        tuple(_rate_plot(rates, name, ("global", "global, volume")) for name in names),
        _rate_grid(rates),
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
    return 1.05 * max(row.error + (number(row.interval) or 0.0) for row in rows)


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
        "y": [number(value) for value in y],
        "error_y": {
            "type": "data",
            "array": [number(value) or 0.0 for value in half],
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


def _density_grid(rows: Sequence[DensityRow]) -> Grid:
    kappas = sorted({row.kappa for row in rows})
    lines: dict[tuple[str, str, str, str], dict[float, tuple[str, float]]] = {}
    for row in rows:
        setting = (f"{row.noise:g}", row.bandwidth, row.spectrum, row.density)
        text = f"{row.error:.3f} ± {row.interval:.3f}"
        lines.setdefault(setting, {})[row.kappa] = text, row.error
    return make_grid(
        "Density check",
        ("noise", "bandwidth", "spectrum", "density", *(f"κ = {kappa:g}" for kappa in kappas)),
        [(*setting, *(cells[kappa] for kappa in kappas)) for setting, cells in lines.items()],
        left=4,
    )


def _rate_grid(rows: Sequence[ConsistencyRow]) -> Grid:
    return make_grid(
        "Consistency",
        ("manifold", "error", "k", *(f"n = {n}" for n in _SIZES), "slope", "slope of the bound"),
        [
            (
                row.manifold,
                row.error,
                (str(row.degree), float(row.degree)),
                *(
                    (f"{mean:.4f} ± {half:.4f}", mean)
                    for mean, half in zip(row.means, row.intervals, strict=True)
                ),
                (f"{row.slope:+.2f}".replace("-", "−"), row.slope),
                (f"{row.predicted:+.2f}".replace("-", "−"), row.predicted),
            )
            for row in rows
        ],
        left=2,
    )

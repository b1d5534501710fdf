"""Figures of both checks: what was measured, handed to the functions that draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pointforms import plot
from pointforms.paper.theory.consistency import ConsistencyRow, Error
from pointforms.paper.theory.density import DensityRow, circles
from pointforms.plot.style import BLUE, GREEN, ORANGE, PURPLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# density correction, bandwidth, spectrum: label, colour, marker, line
_SETTINGS = {
    ("uncorrected", "variable", "raw"): ("uncorrected", ORANGE, "s", "-"),
    ("corrected", "fixed", "raw"): ("corrected, fixed bandwidth", PURPLE, "^", "--"),
    ("corrected", "variable", "raw"): ("corrected, variable bandwidth", BLUE, "o", "-"),
    ("corrected", "variable", "projector"): ("corrected, projector", GREEN, "D", ":"),
}
_ERRORS: dict[str, tuple[Error, ...]] = {
    "local error (mean, 95 % interval)": ("local",),
    "global error (mean, 95 % interval)": ("global", "global, volume"),
}


def density_figure(rows: Sequence[DensityRow]) -> Figure:
    """Draw the density check from its rows."""
    samples = {
        kappa: circles(kappa, 0.0, [0], points=250)[0].points.numpy()
        for kappa in sorted({row.kappa for row in rows})
    }
    panels = {}
    for noise in sorted({row.noise for row in rows}):
        own = [row for row in rows if row.noise == noise and row.main]
        title = "no noise" if noise == 0 else f"noise {noise:g}"
        panels[f"{title}\n{own[0].neighbors} neighbours"] = _density_curves(own)
    return plot.density_check(samples, panels)


def consistency_figure(rows: Sequence[ConsistencyRow]) -> Figure:
    """Draw errors against the number of points: local above, global below."""
    manifolds = list(dict.fromkeys(row.manifold for row in rows))
    return plot.convergence(
        {
            label: [
                _rate_panel([r for r in rows if r.manifold == name and r.error in errors])
                for name in manifolds
            ]
            for label, errors in _ERRORS.items()
        }
    )


def _density_curves(rows: Sequence[DensityRow]) -> list[plot.Curve]:
    curves = []
    for setting, (label, colour, mark, line) in _SETTINGS.items():
        own = [row for row in rows if (row.density, row.bandwidth, row.spectrum) == setting]
        curves.append(
            plot.Curve(
                label,
                [row.kappa for row in own],
                [row.error for row in own],
                [row.interval for row in own],
                colour,
                mark,
                line,
            )
        )
    return curves


def _rate_panel(rows: Sequence[ConsistencyRow]) -> plot.RatePanel:
    curves = []
    for row in rows:
        volume = row.error == "global, volume"
        kind = f"{', volume' if volume else ''}{'' if row.relative else ', absolute'}"
        curves.append(
            plot.Curve(
                f"k = {row.degree}{kind}: {row.slope:.2f}".replace("-", "−"),
                row.sizes,
                row.means,
                row.intervals,
                BLUE if row.degree == 1 else ORANGE,
                "o" if row.degree == 1 else "s",
                "--" if volume else "-",
                filled=not volume,
            )
        )
    title = f"{rows[0].manifold},  $\\varepsilon_n \\propto n^{{-{rows[0].theta:.3f}}}$"
    return plot.RatePanel(title, curves, rows[0].predicted)

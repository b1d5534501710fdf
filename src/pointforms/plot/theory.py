"""Figures of the theory, measured: the density check, and rates of convergence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.plot import style
from pointforms.plot.style import BLUE, ORANGE, PathLike, finished, new_figure, open_frame, styled
from pointforms.plot.svg import add_tooltips

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Curve:
    """Means with intervals, as one line of a figure.

    Parameters
    ----------
    label : str
        Name in the legend.
    x : sequence of float
        What the means were measured at.
    means : sequence of float
        One per x.
    halves : sequence of float
        Half the width of each interval; NaN where there is none.
    colour : str
        A matplotlib colour.
    mark : str
        A matplotlib marker.
    line : str, default "-"
        A matplotlib line style.
    filled : bool, default True
        Whether markers are filled.

    Examples
    --------
    >>> curve = Curve("corrected", [0, 1], [0.1, 0.2], [0.01, 0.02], "C0", "o")
    >>> curve.line
    '-'
    """

    label: str
    x: Sequence[float]
    means: Sequence[float]
    halves: Sequence[float]
    colour: str
    mark: str
    line: str = "-"
    filled: bool = True


@dataclass(frozen=True)
class RatePanel:
    """Errors of one manifold against the number of points.

    Parameters
    ----------
    title : str
        Title of the panel.
    curves : sequence of Curve
        Errors by the number of points.
    bound : float
        Slope of the theory's bound on logarithmic axes.

    Examples
    --------
    >>> panel = RatePanel("circle", [], -0.15)
    >>> panel.bound
    -0.15
    """

    title: str
    curves: Sequence[Curve]
    bound: float


@styled
def density_check(
    samples: Mapping[float, np.ndarray],
    panels: Mapping[str, Sequence[Curve]],
    *,
    path: PathLike | None = None,
) -> Figure:
    """Draw the density check: circles sampled unevenly, and errors of one integral over them.

    Above, samples of von Mises densities with rising concentration κ. Below, the two 1-forms
    whose inner product is integrated, and the errors of the integral against κ.

    Parameters
    ----------
    samples : mapping of float to (n, 2) array
        Points on the unit circle for each κ.
    panels : mapping of str to sequence of Curve
        Errors against κ, by the title of their panel.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from pointforms import plot
    >>> curve = plot.Curve("corrected", [0, 1], [0.1, 0.2], [0.01, 0.02], "C0", "o")
    >>> figure = plot.density_check({0.0: np.eye(2), 1.0: np.eye(2)}, {"no noise": [curve]})
    >>> [axes.get_title() for axes in figure.subfigs[0].axes]
    ['κ = 0', 'κ = 1']
    """
    figure = new_figure(4.1)
    parts: Any = figure.subfigures(2, 1, height_ratios=[1, 1.25])
    top, bottom = parts
    circles = top.subplots(1, len(samples), squeeze=False)[0]
    for axes, (kappa, points) in zip(circles, samples.items(), strict=True):
        _draw_circle(axes, kappa, points)
    top.suptitle("Points of von Mises densities (bands) on the circle")
    forms, errors = bottom.subfigures(1, 2, width_ratios=[1, 1.35])
    forms.suptitle("The two 1-forms")
    errors.suptitle("Error of their inner product ∫⟨ω, x²ω⟩ = π: mean, 95 % interval")
    left, right = forms.subplots(1, 2)
    _draw_form(left, "ω = −y dx + x dy", weighted=False)
    _draw_form(right, "x² ω", weighted=True)
    grid = errors.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, curves) in zip(grid, panels.items(), strict=True):
        for curve in curves:
            _draw_curve(axes, curve)
        axes.set(title=title, xlabel="concentration κ")
        kappas = sorted({x for curve in curves for x in curve.x})
        axes.set_xticks(kappas, [f"{kappa:g}" for kappa in kappas])
        axes.set_ylim(bottom=0)
        open_frame(axes)
    grid[0].set_ylabel("error")
    errors.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return finished(figure, path)


@styled
def convergence(rows: Mapping[str, Sequence[RatePanel]], *, path: PathLike | None = None) -> Figure:
    """Draw errors against the number of points on logarithmic axes, with the bound's slope.

    Parameters
    ----------
    rows : mapping of str to sequence of RatePanel
        Panels of each row, by the label of its error axis, which they share.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from pointforms import plot
    >>> curve = plot.Curve("k = 1: −0.50", [100, 400], [0.2, 0.1], [0.01, 0.01], "C0", "o")
    >>> figure = plot.convergence({"local error": [plot.RatePanel("circle", [curve], -0.15)]})
    >>> figure.axes[0].get_title()
    'circle'
    """
    columns = max(len(row) for row in rows.values())
    figure = new_figure(2.6 * len(rows))
    grid = figure.subplots(len(rows), columns, sharex=True, sharey="row", squeeze=False)
    for line, (label, row) in zip(grid, rows.items(), strict=True):
        for axes, panel in zip(line, row, strict=True):
            _draw_rates(axes, panel)
        _plain_ticks(line[0], [m for panel in row for curve in panel.curves for m in curve.means])
        line[0].set_ylabel(label)
    for axes, panel in zip(grid[0], next(iter(rows.values())), strict=True):
        axes.set_title(panel.title)
    for axes in grid[-1]:
        axes.set_xlabel("points n")
    return finished(figure, path)


def _draw_curve(axes: Axes, curve: Curve) -> None:
    bars = axes.errorbar(
        list(curve.x),
        list(curve.means),
        yerr=np.nan_to_num(np.array(curve.halves, dtype=float)),
        color=curve.colour,
        marker=curve.mark,
        markerfacecolor=curve.colour if curve.filled else "white",
        linestyle=curve.line,
        markersize=3.5,
        capsize=2,
        label=curve.label,
    )
    texts = [
        f"{x:g}: {mean:.3g} ± {half:.2g}"
        for x, mean, half in zip(curve.x, curve.means, curve.halves, strict=True)
    ]
    # the first mark of a line is the line itself
    add_tooltips(bars.lines[0], [curve.label, *(f"{curve.label}\n{text}" for text in texts)])


def _draw_circle(axes: Axes, kappa: float, points: np.ndarray) -> None:
    """Draw a sample, and around it the density it was drawn from."""
    t = np.linspace(-np.pi, np.pi, 400)
    q = np.exp(kappa * np.cos(t)) / (2 * np.pi * np.i0(kappa))
    unit, edge = np.stack([np.cos(t), np.sin(t)]), 1.06
    outer = unit * (edge + 0.7 * q)
    axes.fill(
        np.r_[outer[0], edge * unit[0, ::-1]],
        np.r_[outer[1], edge * unit[1, ::-1]],
        color=ORANGE,
        alpha=0.35,
        linewidth=0,
    )
    axes.scatter(points[:, 0], points[:, 1], s=2.5, color=BLUE, alpha=0.7, linewidths=0)
    axes.set_title(f"κ = {kappa:g}")
    axes.set(xlim=(-1.35, 1.75), ylim=(-1.4, 1.4), aspect="equal")
    axes.set_axis_off()


def _draw_form(axes: Axes, title: str, weighted: bool) -> None:
    """Draw ω = -y dx + x dy, or x² ω, on a disc that holds the circle."""
    ticks = np.linspace(-1.4, 1.4, 15)
    grid = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), -1).reshape(-1, 2)
    x, y = grid[np.linalg.norm(grid, axis=1) < 1.45].T
    arrows = np.stack([-y, x]) * (x**2 if weighted else 1.0)
    t = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(t), np.sin(t), color=BLUE, linewidth=1.5, alpha=0.6)
    arrows = arrows / np.linalg.norm(arrows, axis=0).max()
    axes.quiver(x, y, *arrows, color=style.INK, scale=8, width=0.008, pivot="mid")
    axes.set_title(title)
    axes.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), aspect="equal")
    axes.set_axis_off()


def _draw_rates(axes: Axes, panel: RatePanel) -> None:
    for curve in panel.curves:
        _draw_curve(axes, curve)
    # the bound starts above the highest point: only its slope means something
    sizes = np.array(panel.curves[0].x, dtype=float)
    start = 1.15 * max(curve.means[0] for curve in panel.curves)
    axes.plot(
        sizes,
        start * (sizes / sizes[0]) ** panel.bound,
        color=style.GREY,
        linewidth=1.2,
        linestyle=":",
        label=f"bound: {panel.bound:.2f}".replace("-", "−"),
    )
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(sizes, [f"{n:g}" for n in sizes], minor=False)
    axes.minorticks_off()
    axes.grid(axis="y", color=style.PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(loc="lower left", title="slopes", alignment="left", fontsize=7, title_fontsize=7)
    open_frame(axes)


def _plain_ticks(axes: Axes, values: Sequence[float]) -> None:
    """Put 1, 2, 5 · 10^m on the error axis, with room below for the legend."""
    highest = 1.3 * max(values)
    low = min(values) * (min(values) / highest) ** 0.85
    ticks = [m * 10.0**p for p in range(-9, 2) for m in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= tick <= highest]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_ylim(low, highest)

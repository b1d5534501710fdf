"""The two pictures of the theory: the density check, and consistency."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from pointforms.paper.theory.consistency import ConsistencyRow, Error
from pointforms.paper.theory.density import DensityRow, circles, omega, weighted_omega
from pointforms.plot.style import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    new_figure,
    open_frame,
    save,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def density_figure(rows: Sequence[DensityRow], path: Path) -> list[Path]:
    """The picture of :func:`draw_density`, as PNG and as PDF beside it."""
    return _save(draw_density(rows), path)


def consistency_figure(rows: Sequence[ConsistencyRow], path: Path) -> list[Path]:
    """The picture of :func:`draw_consistency`, as PNG and as PDF beside it."""
    return _save(draw_consistency(rows), path)


@styled
def draw_density(rows: Sequence[DensityRow]) -> Figure:
    """Sampled circles as κ rises; below, the two forms, and errors with and without correction."""
    kappas = sorted({row.kappa for row in rows})
    noises = sorted({row.noise for row in rows})
    figure = new_figure(4.1)
    parts: Any = figure.subfigures(2, 1, height_ratios=[1, 1.25])
    top, bottom = parts
    for axes, kappa in zip(top.subplots(1, len(kappas), squeeze=False)[0], kappas, strict=True):
        _draw_circle(axes, kappa)
    top.suptitle("Points of von Mises densities (bands) on the circle")
    forms, errors = bottom.subfigures(1, 2, width_ratios=[1, 1.35])
    forms.suptitle("The two 1-forms")
    errors.suptitle("Error of their inner product ∫⟨ω, x²ω⟩ = π: mean, 95 % interval")
    for axes, form, title in zip(
        forms.subplots(1, 2),
        (omega, weighted_omega),
        ("ω = −y dx + x dy", "x² ω"),
        strict=True,
    ):
        _draw_form(axes, form(_grid()).numpy(), title)
    panels = errors.subplots(1, len(noises), sharey=True, squeeze=False)[0]
    for axes, noise in zip(panels, noises, strict=True):
        _draw_density_errors(axes, [row for row in rows if row.noise == noise and row.main])
        view = next(row.neighbors for row in rows if row.noise == noise and row.main)
        title = "no noise" if noise == 0 else f"noise {noise:g}"
        axes.set_title(f"{title}\n{view} neighbours")
    panels[0].set_ylabel("error")
    handles, labels = panels[0].get_legend_handles_labels()
    errors.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


@styled
def draw_consistency(rows: Sequence[ConsistencyRow]) -> Figure:
    """Log-log errors against n: local above, global below, a column for each manifold."""
    names = list(dict.fromkeys(row.manifold for row in rows))
    figure = new_figure(5.2)
    grid = figure.subplots(2, len(names), sharex=True, sharey="row", squeeze=False)
    shown: tuple[tuple[Error, ...], ...] = (("local",), ("global", "global, volume"))
    for line, errors in zip(grid, shown, strict=True):
        for axes, name in zip(line, names, strict=True):
            _draw_rates(axes, [r for r in rows if r.manifold == name and r.error in errors])
        _plain_ticks(line[0], [m for r in rows if r.error in errors for m in r.means])
        line[0].set_ylabel(f"{errors[0]} error (mean, 95 % interval)")
    for axes, name in zip(grid[0], names, strict=True):
        row = next(row for row in rows if row.manifold == name)
        axes.set_title(f"{name},  $\\varepsilon_n \\propto n^{{-{row.theta:.3f}}}$")
    for axes in grid[1]:
        axes.set_xlabel("points n")
    return figure


def _draw_circle(axes: Axes, kappa: float) -> None:
    """A sample, and around it the density it was drawn from."""
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
    (sample,) = circles(kappa, 0.0, [0], points=250)
    x, y = sample.points.T.numpy()
    axes.scatter(x, y, s=2.5, color=BLUE, alpha=0.7, linewidths=0)
    axes.set_title(f"κ = {kappa:g}")
    axes.set(xlim=(-1.35, 1.75), ylim=(-1.4, 1.4), aspect="equal")
    axes.set_axis_off()


def _grid() -> torch.Tensor:
    """Points of a disc that holds the circle."""
    ticks = torch.linspace(-1.4, 1.4, 15, dtype=torch.float64)
    grid = torch.cartesian_prod(ticks, ticks)
    return grid[grid.norm(dim=1) < 1.45]


def _draw_form(axes: Axes, coefficients: np.ndarray, title: str) -> None:
    x, y = _grid().T.numpy()
    t = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(t), np.sin(t), color=BLUE, linewidth=1.5, alpha=0.6)
    longest = np.linalg.norm(coefficients, axis=1).max()
    arrows = coefficients / longest
    axes.quiver(x, y, *arrows.T, color="0.15", scale=8, width=0.008, pivot="mid")
    axes.set_title(title)
    axes.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), aspect="equal")
    axes.set_axis_off()


def _draw_density_errors(axes: Axes, rows: Sequence[DensityRow]) -> None:
    lines = (
        ("uncorrected", "variable", "raw", ORANGE, "s", "-"),
        ("corrected", "fixed", "raw", PURPLE, "^", "--"),
        ("corrected", "variable", "raw", BLUE, "o", "-"),
        ("corrected", "variable", "projector", GREEN, "D", ":"),
    )
    for correction, bandwidth, spectrum, colour, mark, style in lines:
        found = [
            row
            for row in rows
            if (row.density, row.bandwidth, row.spectrum) == (correction, bandwidth, spectrum)
        ]
        detail = f"{bandwidth} bandwidth" if spectrum == "raw" else "projector"
        axes.errorbar(
            [row.kappa for row in found],
            [row.error for row in found],
            yerr=[np.nan_to_num(row.interval) for row in found],
            color=colour,
            marker=mark,
            linestyle=style,
            markersize=3.5,
            capsize=2,
            label=correction if correction == "uncorrected" else f"corrected, {detail}",
        )
    kappas = sorted({row.kappa for row in rows})
    axes.set(xlabel="concentration κ")
    axes.set_xticks(kappas, [f"{kappa:g}" for kappa in kappas])
    axes.set_ylim(bottom=0)
    open_frame(axes)


def _draw_rates(axes: Axes, rows: Sequence[ConsistencyRow]) -> None:
    colours, marks = {1: BLUE, 2: ORANGE}, {1: "o", 2: "s"}
    for row in rows:
        volume = row.error == "global, volume"
        kind = f"{', volume' if volume else ''}{'' if row.relative else ', absolute'}"
        label = f"k = {row.degree}{kind}: {_minus(row.slope)}"
        axes.errorbar(
            row.sizes,
            row.means,
            yerr=np.nan_to_num(row.intervals),
            color=colours[row.degree],
            marker=marks[row.degree],
            markerfacecolor="white" if volume else colours[row.degree],
            linestyle="--" if volume else "-",
            markersize=3.5,
            capsize=2,
            label=label,
        )
    # the bound's slope, from above the highest point: only its direction means something
    sizes = np.array(rows[0].sizes, dtype=float)
    start = 1.15 * max(row.means[0] for row in rows)
    axes.plot(
        sizes,
        start * (sizes / sizes[0]) ** rows[0].predicted,
        color="0.45",
        linewidth=1.2,
        linestyle=":",
        label=f"bound: {_minus(rows[0].predicted)}",
    )
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(rows[0].sizes, [str(n) for n in rows[0].sizes], minor=False)
    axes.minorticks_off()
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(loc="lower left", title="slopes", alignment="left", fontsize=7, title_fontsize=7)
    open_frame(axes)


def _plain_ticks(axes: Axes, values: Sequence[float]) -> None:
    """Numbers 1, 2, 5 · 10^m on the error axis, with room below for the legend."""
    highest = 1.3 * max(values)
    low = min(values) * (min(values) / highest) ** 0.85
    ticks = [m * 10.0**p for p in range(-9, 2) for m in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= tick <= highest]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_ylim(low, highest)


def _minus(slope: float) -> str:
    return f"{slope:.2f}".replace("-", "−")


def _save(figure: Figure, path: Path) -> list[Path]:
    """As PNG and as PDF beside it."""
    return save(figure, path.with_suffix(".png"), path.with_suffix(".pdf"))

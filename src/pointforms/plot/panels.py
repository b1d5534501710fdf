"""Single panels, of which figures are put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from pointforms.plot import style
from pointforms.plot.form_data import ComparisonPCA, FormField
from pointforms.plot.svg import add_tooltips

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Beyond this number of points, vector files hold an image of them.
RASTER = 3000


def draw_classes(
    axes: Axes,
    points: np.ndarray,
    codes: np.ndarray,
    classes: int,
    size: float = 3.0,
    tooltips: Sequence[str] | None = None,
) -> None:
    """Draw points (n, 2) with the colour and mark of their class, such that none covers another."""
    texts = None if tooltips is None else np.asarray(tooltips, dtype=object)
    order = np.random.default_rng(0).permutation(len(points))
    blocks = np.array_split(order, max(1, min(20, len(points) // 50)))
    for block in blocks:  # the classes take turns
        for c in range(classes):
            chosen = block[codes[block] == c]
            look = style.class_look(c) if classes > 1 else {"color": style.GREY, "marker": "o"}
            x, y = points[chosen].T
            marks = axes.scatter(
                x,
                y,
                s=size,
                linewidths=0,
                alpha=0.8,
                rasterized=len(points) > RASTER,
                **look,
            )
            if texts is not None:
                add_tooltips(marks, texts[chosen].tolist())


def draw_arrows(axes: Axes, data: FormField, form: int, colour: str = style.INK) -> None:
    """Draw one form of a field, over the data in grey."""
    shown = np.random.default_rng(0).permutation(len(data.data))[:RASTER]
    x, y = data.data[shown].T
    # this grey is visible on white and on dark paper
    axes.scatter(x, y, s=1.5, color=style.GREY, alpha=0.2, linewidths=0, rasterized=True)
    axes.quiver(
        *data.points.T,
        *data.arrows()[:, form].T,
        **style.ARROWS,
        scale=1,
        color=colour,
        width=0.009,
        headwidth=3.6,
        headlength=3.6,
        headaxislength=3.2,
        minlength=0.3,
    )


def draw_rings(axes: Axes, rings: Tensor) -> None:
    """Fill outlines (m, sides, 2); a flat one is a stroke."""
    from matplotlib.collections import PolyCollection

    axes.add_collection(
        PolyCollection(
            list(rings.numpy()),
            facecolor=style.BLUE,
            edgecolor=style.BLUE,
            linewidth=1.2,
            alpha=0.65,
            zorder=3,
        )
    )


def draw_pca(
    axes: Axes,
    data: ComparisonPCA,
    codes: np.ndarray,
    classes: int,
    tooltips: Sequence[str] | None = None,
) -> None:
    """Draw clouds in the plane of two principal components."""
    draw_classes(axes, data.coordinates, codes, classes, size=14, tooltips=tooltips)
    labels = [f"PC {a + 1} ({data.explained[a]:.0%} of variance)" for a in range(2)]
    axes.set(xlabel=labels[0], ylabel=labels[1])
    axes.set_box_aspect(1)
    axes.locator_params(nbins=5)
    style.open_frame(axes)


def draw_values(
    figure: Figure,
    axes: Axes,
    points: np.ndarray,
    values: np.ndarray,
    label: str | None,
    signed: bool | None = None,
) -> None:
    """Draw points coloured by values, the strongest on top, with a colour bar."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"{int((~np.isfinite(values)).sum())} of {len(values)} values are not finite"
        )
    signed = bool((values < 0).any()) if signed is None else signed
    order = np.argsort(np.abs(values))
    limit = float(np.quantile(np.abs(values), 0.98)) or float(np.abs(values).max()) or 1.0
    lowest = float(np.quantile(values, 0.02))
    drawn = axes.scatter(
        points[order, 0],
        points[order, 1],
        c=values[order],
        cmap=style.DIVERGING if signed else style.SEQUENTIAL,
        vmin=-limit if signed else lowest,
        vmax=limit,
        s=float(np.clip(6000 / len(points), 3, 22)),
        # pale colours in the middle of the scale still show where points are
        edgecolors=style.GREY if signed else "none",
        linewidths=0.25 if signed else 0,
        rasterized=len(points) > RASTER,
    )
    add_tooltips(drawn, [f"{value:+.3g}".replace("-", "−") for value in values[order]])
    beyond = bool((np.abs(values) > limit).any())
    figure.colorbar(
        drawn,
        ax=axes,
        label=label or ("contribution" if signed else "energy"),
        extend="both" if beyond else "neither",
        shrink=0.85,
    )


def draw_running_total(axes: Axes, values: np.ndarray, baseline: float, output: str) -> None:
    """Draw the sum of contributions, added up from the largest, from the baseline."""
    order = np.argsort(-np.abs(values))
    total = baseline + np.r_[0.0, np.cumsum(values[order])]
    axes.axhline(baseline, color=style.GREY, linewidth=0.8, linestyle=":")
    axes.axhline(total[-1], color=style.GREY, linewidth=0.8)
    axes.step(np.arange(len(total)), total, where="post", color=style.INK)
    for value, name in ((baseline, "baseline"), (total[-1], "prediction")):
        axes.annotate(
            f"{name}\n{value:.2f}".replace("-", "−"),
            (1, value),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
        )
    axes.margins(y=0.1)
    axes.set(title=f"{output}, running total", xlabel="points, largest contribution first")
    axes.set_xlim(0, len(values))
    axes.locator_params(nbins=5)
    style.open_frame(axes)

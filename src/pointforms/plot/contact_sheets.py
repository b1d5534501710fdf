"""Contact sheets: a few clouds of every class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.clouds import as_clouds
from pointforms.plot import style
from pointforms.plot.planes import names_or_default
from pointforms.plot.style import PathLike, class_codes, finished, literal, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Clouds smaller than this share of the extent of all are drawn on axes of their own.
_SMALL = 0.2


@styled
def contact_sheet(
    clouds: Any,
    labels: Any,
    class_names: Sequence[str] | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    each: int = 6,
    title: str = "",
    path: PathLike | None = None,
) -> Figure:
    """Draw `each` clouds of every class, one class per row, all on the same axes.

    With more than two features, clouds are seen along the two directions in which the drawn ones
    vary most about their own means, and all of them stand behind each in grey. Where clouds are
    much smaller than the space between them, each column has its own axes.

    Parameters
    ----------
    clouds : list of (n_i, D) arrays
        One array per cloud, all with the same features.
    labels : (N,) array
        Class of each cloud.
    class_names : sequence of str, optional
        Names of the sorted labels. By default the labels themselves.
    feature_names : sequence of str, optional
        Names of the D features.
    each : int, default 6
        Number of clouds per class.
    title : str, default ""
        What the clouds are; the number of clouds and points is added.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from pointforms import plot
    >>> clouds = list(np.random.default_rng(0).normal(size=(4, 20, 2)))
    >>> figure = plot.contact_sheet(clouds, [0, 0, 1, 1], ["wild type", "mutant"], each=2)
    >>> len(figure.axes)
    4
    """
    tables = [np.asarray(c.cpu(), dtype=np.float64) for c in as_clouds(clouds, distinct=False)]
    codes, all_classes = class_codes(np.asarray(labels), len(tables), class_names)
    names = names_or_default(feature_names, tables[0].shape[1])
    classes = [all_classes[code] for code in np.unique(codes)]
    chosen = [np.flatnonzero(codes == code)[:each] for code in np.unique(codes)]
    shown = [int(i) for row in chosen for i in row]
    axes_names, seen = _project([tables[i] for i in shown], names)
    projected = dict(zip(shown, seen, strict=True))
    everything = np.concatenate(seen)
    columns = max(len(row) for row in chosen)
    apart = np.median([_extent(view) for view in seen]) < _SMALL * _extent(everything)
    frames = [_frame(everything)] * columns
    if apart:
        for column in range(columns):
            seen = [projected[row[column]] for row in chosen if column < len(row)]
            frames[column] = _frame(np.concatenate(seen))
    cell = 1.7 if len(classes) <= 4 else 1.15
    figure = new_figure(cell * len(classes) + 0.9, cell * columns + 1.2)
    grid = figure.subplots(len(classes), columns, squeeze=False)
    for row, members in enumerate(chosen):
        for column, axes in enumerate(grid[row]):
            xlim, ylim = frames[column]
            axes.set(xlim=xlim, ylim=ylim, aspect="equal", xticks=[], yticks=[])
            if column >= len(members):
                axes.set_axis_off()
                continue
            if len(names) > 2:
                axes.scatter(*everything.T, s=1, color=style.PALE, linewidths=0, rasterized=True)
            colour = style.COLOURS[row % len(style.COLOURS)]
            axes.scatter(*projected[members[column]].T, s=5, color=colour, linewidths=0)
        label = literal(classes[row])
        grid[row][0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize=9)
    heading = f"{title}: " if title else ""
    figure.suptitle(
        literal(f"{heading}{len(tables)} clouds of {_sizes(tables)} points"), fontsize=11
    )
    scale = "; each column on its own axes" if apart else ""
    figure.supxlabel(f"{literal(axes_names[0])} → , {literal(axes_names[1])} ↑{scale}", fontsize=8)
    return finished(figure, path)


def _sizes(clouds: Sequence[np.ndarray]) -> str:
    low, high = min(map(len, clouds)), max(map(len, clouds))
    return str(low) if low == high else f"{low}–{high}"


def _extent(points: np.ndarray) -> float:
    return float(np.ptp(points, axis=0).max())


def _frame(points: np.ndarray) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of a square about the points."""
    (x, y), reach = (points.max(0) + points.min(0)) / 2, 0.55 * _extent(points)
    return (x - reach, x + reach), (y - reach, y + reach)


def _project(
    clouds: Sequence[np.ndarray], names: Sequence[str]
) -> tuple[Sequence[str], list[np.ndarray]]:
    """Names of two axes, and the clouds along them."""
    D = len(names)
    if D == 1:
        return [names[0], ""], [np.column_stack([c, np.zeros(len(c))]) for c in clouds]
    if D == 2:
        return names, list(clouds)
    centred = np.concatenate([cloud - cloud.mean(0) for cloud in clouds])
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    share = values**2 / (values**2).sum()
    axes = [f"principal direction {a + 1} within clouds ({share[a]:.0%})" for a in range(2)]
    return axes, [cloud @ directions[:2].T for cloud in clouds]

"""Learned 1-forms beside the two planar flows that they tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.plot import style
from pointforms.plot.form_data import form_field_data
from pointforms.plot.panels import draw_arrows
from pointforms.plot.style import PathLike, finished, literal, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Trajectories per class that are drawn: more would cover one another.
_TRAJECTORIES = 25


@styled
def flow_forms(
    estimator: Any,
    clouds: Sequence[np.ndarray],
    labels: np.ndarray,
    class_names: Sequence[str] = ("circles", "lines"),
    *,
    forms: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draw trajectories of two planar flows, and learned 1-forms as fields of arrows.

    A form has the colour of the class along whose flow, (y, -x) or (x, y), it lies more. Below it
    stands the mean |cos| of its angle to both flows, weighted by the lengths of form and flow.

    Parameters
    ----------
    estimator : PointFormClassifier or PointFormNetwork
        A fitted model with forms of degree 1.
    clouds : list of (n_i, 2) arrays
        Trajectories of the task circles-vs-lines.
    labels : (N,) array
        0 for trajectories of (y, -x), 1 for those of (x, y).
    class_names : sequence of str, default ("circles", "lines")
        Names of the two classes.
    forms : sequence of int, optional
        Which of the forms to draw. By default all.
    feature_names : sequence of str, optional
        Names of the two features.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=20)
    >>> model = pf.PointFormTransformer(forms=2, hidden=(4,), epochs=0).fit(task.clouds)
    >>> figure = pf.plot.flow_forms(model, task.clouds, task.labels)
    >>> figure.axes[1].get_title()
    'ω₁'
    """
    data = form_field_data(estimator, clouds, forms=forms, feature_names=feature_names)
    rows, columns = style.panel_grid(1 + len(data.forms), 5)
    figure = new_figure(rows * (style.PAGE / columns + 0.5) + 0.33)
    first, *others = style.panels(figure, (rows, columns), 1 + len(data.forms), data.extent)
    _draw_trajectories(first, clouds, np.asarray(labels))
    first.set(title="trajectories", xticks=[], yticks=[], xlabel=" \n ")
    x, y = data.points.T
    for a, (axes, form) in enumerate(zip(others, data.forms, strict=True)):
        turning = alignment(data.vectors[:, a], np.stack([y, -x], 1))
        leaving = alignment(data.vectors[:, a], data.points)
        draw_arrows(axes, data, a, style.COLOURS[int(leaving > turning)])
        measured = f"turning {turning:.2f}\nleaving {leaving:.2f}"
        axes.set(title=style.form_name(form), xticks=[], yticks=[], xlabel=measured)
    names = [literal(name) for name in class_names]
    entries = style.line_entries([f"{names[0]}: flow of (y, −x)", f"{names[1]}: flow of (x, y)"])
    style.add_legend(figure, entries, 2, "bottom")
    return finished(figure, path)


def alignment(form: np.ndarray, flow: np.ndarray) -> float:
    """Return the mean |cos| of the angles between two fields (m, 2), weighted by their lengths.

    >>> round(alignment(np.array([[1.0, 1.0]]), np.array([[2.0, 0.0]])), 3)
    0.707
    """
    lengths = np.linalg.norm(form, axis=1) * np.linalg.norm(flow, axis=1)
    return float(np.abs((form * flow).sum(1)).sum() / lengths.sum())


def _draw_trajectories(axes: Axes, clouds: Sequence[np.ndarray], labels: np.ndarray) -> None:
    """Join the points of a trajectory in the order in which the flow meets them."""
    for label in range(2):
        for i in np.flatnonzero(labels == label)[:_TRAJECTORIES]:
            cloud = clouds[i]
            order = np.hypot(*cloud.T) if label else np.arctan2(cloud[:, 1], cloud[:, 0])
            ordered = cloud[np.argsort(order)]
            cut = np.flatnonzero(np.hypot(*np.diff(ordered, axis=0).T) > 0.5) + 1  # across ±π
            for piece in np.split(ordered, cut):
                axes.plot(*piece.T, color=style.COLOURS[label], linewidth=0.9)

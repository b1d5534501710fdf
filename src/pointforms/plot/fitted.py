"""Views of a fitted model: what its forms, its geometry and its decisions look like.

Each function returns a matplotlib figure, and writes it where a `path` (.pdf, .svg, .png) is given.
Forms are called ω₁, ω₂, …: ω₁ is the model's form 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.clouds import as_tensor
from pointforms.geometry.field import GramField
from pointforms.plot import style
from pointforms.plot.form_data import area_map_data, comparison_pca_data, form_field_data
from pointforms.plot.panels import (
    draw_area,
    draw_arrows,
    draw_classes,
    draw_ellipses,
    draw_pca,
    draw_running_total,
    draw_values,
)
from pointforms.plot.planes import Directions, feature_names, feature_pair, frame, look
from pointforms.plot.style import PathLike, finished, literal, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_AVERAGED = "means over the points seen in each cell"


@styled
def form_field(
    estimator: Any,
    clouds: Any,
    labels: Any = None,
    directions: Directions = None,
    *,
    forms: Sequence[int] | None = None,
    class_names: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    grid: int = 17,
    path: PathLike | None = None,
) -> Figure:
    """Learned 1-forms as fields of arrows over the data.

    For D = 2 the forms are evaluated on a grid, where data are near. For more features the picture
    shows two of them, or two directions: an arrow is then the mean, over the points seen in a
    cell, of the form on those two directions. The axis label says so.

    Parameters
    ----------
    estimator : a fitted estimator of point-forms with degree 1, or a PointFormNetwork
    clouds : list of (n_i, D)
    labels : (N,) or None
        Classes of the clouds, which colour the first panel.
    directions, forms, features, grid
        As in :func:`pointforms.plot.form_data.form_field_data`.
    class_names : names of the sorted labels
    path : a file to write, too
    """
    data = form_field_data(estimator, clouds, directions, grid, forms, features)
    codes, names = _classes(labels, len(list(clouds)), class_names)
    rows, columns = style.panels(1 + len(data.forms), 5)
    figure = new_figure(rows * (style.PAGE / columns + 0.2) + 0.75)
    grid_of_axes = figure.subplots(rows, columns, squeeze=False)
    flat = grid_of_axes.ravel()
    draw_classes(flat[0], data.data, codes[data.owner], len(names))
    flat[0].set_title("clouds")
    for a, form in enumerate(data.forms):
        draw_arrows(flat[1 + a], data, a)
        flat[1 + a].set_title(f"$\\omega_{{{form + 1}}}$")
    for axes in flat[1 + len(data.forms) :]:
        axes.set_axis_off()
    for axes in flat[: 1 + len(data.forms)]:
        style.square_frame(axes, data.extent)
    _share_ticks(grid_of_axes)
    note = f"\narrows: {_AVERAGED}" if data.averaged else ""
    figure.supxlabel(literal(data.axes[0]) + note)
    figure.supylabel(literal(data.axes[1]))
    if len(names) > 1:
        figure.legend(
            handles=style.class_marks(names), loc="outside upper center", ncols=min(len(names), 6)
        )
    return finished(figure, path)


@styled
def area_map(
    estimator: Any,
    clouds: Any,
    pair: Sequence[int] | Sequence[str],
    *,
    forms: Sequence[int] | None = None,
    features: Sequence[str] | None = None,
    grid: int = 25,
    path: PathLike | None = None,
) -> Figure:
    """Learned 2-forms as maps of signed area over two features.

    The colour is the coefficient of dx ∧ dy: red where a form counts a small loop that turns
    counter-clockwise in the picture as positive, blue where as negative. All forms share one scale.
    For D > 2 it is the mean over the points seen in each cell; cells without points are empty.

    Parameters
    ----------
    estimator : a fitted estimator of point-forms with degree 2, or a PointFormNetwork
    clouds : list of (n_i, D)
    pair : two features, by name or number
    forms, features, grid
        As in :func:`pointforms.plot.form_data.area_map_data`.
    path : a file to write, too
    """
    data = area_map_data(estimator, clouds, pair, grid, forms, features)
    rows, columns = style.panels(len(data.forms), 4)
    width = style.PAGE if columns > 2 else 2.4 * columns + 1.2
    figure = new_figure(rows * ((width - 1.2) / columns + 0.25) + 0.7, width)
    grid_of_axes = figure.subplots(rows, columns, squeeze=False)
    flat = grid_of_axes.ravel()
    for a, form in enumerate(data.forms):
        image = draw_area(flat[a], data, a)
        flat[a].set_title(f"$\\omega_{{{form + 1}}}$")
        style.square_frame(flat[a], data.extent)
    for axes in flat[len(data.forms) :]:
        axes.set_axis_off()
    _share_ticks(grid_of_axes)
    figure.supxlabel(literal(data.axes[0]) + (f"\ncolours: {_AVERAGED}" if data.averaged else ""))
    figure.supylabel(literal(data.axes[1]))
    figure.colorbar(
        image,
        ax=flat,
        label=f"coefficient of\nd{literal(data.axes[0])} ∧ d{literal(data.axes[1])}",
        extend="both",
        shrink=0.85,
    )
    return finished(figure, path)


@styled
def tangent_ellipses(
    field: GramField,
    pair: Sequence[int] | Sequence[str] = (0, 1),
    *,
    count: int = 120,
    features: Sequence[str] | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Ellipses of a Gram field in two coordinates, at points spread over the cloud.

    An ellipse is the shadow of {V u : |u| ≤ 1} on the two axes, with half-axes √λ of the block of
    G there: a stroke along a curve, a disc on a surface seen from above. Both axes have one scale,
    and all ellipses too.

    Parameters
    ----------
    field : GramField
    pair : two features, by name or number
    count : ellipses at most
    features : names of the features
    path : a file to write, too
    """
    names = feature_names(features, field.points.shape[1])
    i, j = feature_pair(pair, names)
    points, factor = field.points[:, [i, j]], field.factor[:, [i, j]]
    left, right, bottom, top = frame(points.double().cpu().numpy(), one_scale=False)
    tall = float(np.clip((top - bottom) / (right - left), 0.3, 1.5))
    figure = new_figure(3.1 * tall + 0.4, 3.6)
    axes = figure.subplots()
    draw_ellipses(axes, points, factor, count)
    axes.set(
        xlim=(left, right), ylim=(bottom, top), xlabel=literal(names[i]), ylabel=literal(names[j])
    )
    axes.set_aspect("equal", adjustable="box")
    axes.locator_params(nbins=5)
    return finished(figure, path)


@styled
def energy_scatter(
    clouds: Any,
    energies: Sequence[Any],
    directions: Directions = None,
    *,
    features: Sequence[str] | None = None,
    label: str | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Points of all clouds, coloured by energy or by signed contribution to the decision.

    Values with both signs get diverging colours about 0, others a scale from dark to light. The
    strongest points lie on top. Scales leave out the last fiftieth of the values.

    Parameters
    ----------
    clouds : list of (n_i, D)
    energies : list of (n_i,)
    directions, features
        As in :func:`form_field`.
    label : of the colour bar; "energy" or "contribution" by default
    path : a file to write, too
    """
    tables = [np.asarray(as_tensor(c, f"cloud {i}").cpu()) for i, c in enumerate(clouds)]
    if len(tables) != len(energies):
        raise ValueError(f"energies of {len(energies)} clouds for {len(tables)} clouds")
    for i, (table, energy) in enumerate(zip(tables, energies, strict=True)):
        if np.shape(energy) != (len(table),):
            raise ValueError(
                f"energies of cloud {i} have shape {np.shape(energy)}: expected ({len(table)},)"
            )
    plane = look(clouds, directions, features)
    values = np.concatenate([np.asarray(energy, dtype=np.float64) for energy in energies])
    figure = new_figure(3.5, 4.3)
    axes = figure.subplots()
    seen = plane.project(np.concatenate(tables).astype(np.float64))
    draw_values(figure, axes, seen, values, label)
    style.square_frame(axes, plane.extent, plane.axes)
    return finished(figure, path)


@styled
def comparison_pca(
    matrices: Any,
    labels: Any = None,
    class_names: Sequence[str] | None = None,
    *,
    path: PathLike | None = None,
) -> Figure:
    """Clouds on the two principal components of their comparison matrices, coloured by class.

    Parameters
    ----------
    matrices : (N, l, l) or (N, degrees, l, l)
    labels : (N,) or None
    class_names : names of the sorted labels
    path : a file to write, too
    """
    data = comparison_pca_data(matrices)
    codes, names = _classes(labels, len(data.coordinates), class_names)
    figure = new_figure(3.5, 3.6)
    draw_pca(figure.subplots(), data, codes, len(names))
    if len(names) > 1:
        figure.legend(
            handles=style.class_marks(names), loc="outside upper center", ncols=min(len(names), 4)
        )
    return finished(figure, path)


@styled
def cloud_prediction(
    cloud: Any,
    contributions: Any,
    directions: Directions = None,
    *,
    baseline: float = 0.0,
    features: Sequence[str] | None = None,
    output: str = "prediction",
    path: PathLike | None = None,
) -> Figure:
    """One cloud's prediction, split over its points.

    Left, where the points that speak for (red) and against (blue) lie. Right, the running total
    from the baseline to the prediction, the weightiest points first: how many carry it.

    Parameters
    ----------
    cloud : (n, D)
    contributions : (n,)
        Of which the baseline and the sum are the prediction.
    directions, features
        As in :func:`form_field`.
    baseline : float
        What the model says without the cloud.
    output : what is predicted, for the labels
    path : a file to write, too
    """
    points = np.asarray(as_tensor(cloud, "cloud").cpu(), dtype=np.float64)
    values = np.asarray(contributions, dtype=np.float64)
    if values.shape != (len(points),):
        raise ValueError(f"contributions have shape {values.shape}: expected ({len(points)},)")
    plane = look([points], directions, features)
    figure = new_figure(3.1)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    draw_values(
        figure, left, plane.project(points), values, f"contribution to {output}", signed=True
    )
    style.square_frame(left, plane.extent, plane.axes)
    draw_running_total(right, values, baseline, output)
    return finished(figure, path)


def _share_ticks(grid: np.ndarray) -> None:
    """Tick labels only at the left and where nothing is below."""
    for r, row in enumerate(grid):
        for c, axes in enumerate(row):
            if c > 0:
                axes.set_yticklabels([])
            if r + 1 < len(grid) and grid[r + 1][c].axison:
                axes.set_xticklabels([])


def _classes(
    labels: Any, clouds: int, class_names: Sequence[str] | None
) -> tuple[np.ndarray, list[str]]:
    """The class of each cloud as an index, and the names of the classes."""
    if labels is None:
        return np.zeros(clouds, dtype=np.int64), ["clouds"]
    given = np.asarray(labels)
    if given.shape != (clouds,):
        raise ValueError(f"labels have shape {given.shape} for {clouds} clouds")
    classes, codes = np.unique(given, return_inverse=True)
    if class_names is None:
        return codes, [str(c) for c in classes.tolist()]
    if classes.dtype.kind in "iu" and classes[0] >= 0 and classes[-1] < len(class_names):
        return given, [str(name) for name in class_names]  # labels index the names, as in a task
    if len(class_names) != len(classes):
        raise ValueError(f"{len(class_names)} class names for {len(classes)} classes")
    return codes, [str(name) for name in class_names]

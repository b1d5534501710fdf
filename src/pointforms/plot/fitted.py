"""Figures of a fitted model: its forms, its geometry and its decisions.

Each function returns a matplotlib figure, and writes it if a `path` (.pdf, .svg, .png) is given.
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
from pointforms.plot.planes import (
    Directions,
    feature_pair,
    frame,
    look,
    names_or_default,
)
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
    form_titles: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    grid: int = 17,
    path: PathLike | None = None,
) -> Figure:
    """Draw learned 1-forms as fields of arrows over the data.

    With two features the forms are evaluated on a grid, where data are near. With more, the figure
    shows two of them, or two directions: an arrow is then the mean, over the points seen in a
    cell, of the form on those two directions, and the axis label says so.

    Parameters
    ----------
    estimator : PointFormClassifier, PointFormRegressor, PointFormTransformer or PointFormNetwork
        A fitted model with forms of degree 1.
    clouds : list of (n_i, D) arrays
        One array per cloud, all with the same features.
    labels : (N,) array, optional
        Classes of the clouds, which colour the first panel.
    directions : pair of str or int, "principal" or (2, D) array, optional
        The plane of the figure: two features, the two principal directions of all points, or two
        directions at right angles. By default the features themselves for D = 2, else "principal".
    forms : sequence of int, optional
        Which of the forms to draw, in this order. By default all.
    form_titles : sequence of str, optional
        Titles of their panels. By default ω₁, ω₂, ….
    class_names : sequence of str, optional
        Names of the sorted labels.
    feature_names : sequence of str, optional
        Names of the features; those of `Clouds` are known.
    grid : int, default 17
        Number of cells per side.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> import pointforms as pf
    >>> clouds = list(np.random.default_rng(0).normal(size=(6, 20, 2)))
    >>> model = pf.PointFormTransformer(forms=2, hidden=(4,), epochs=0, neighbors=8).fit(clouds)
    >>> figure = pf.plot.form_field(model, clouds, [0, 0, 0, 1, 1, 1])
    >>> [axes.get_title() for axes in figure.axes]
    ['clouds', 'ω₁', 'ω₂']
    """
    data = form_field_data(estimator, clouds, directions, grid, forms, feature_names)
    codes, names = _classes(labels, len(list(clouds)), class_names)
    rows, columns = style.panel_grid(1 + len(data.forms), 5)
    figure = new_figure(rows * ((style.PAGE - 0.6) / columns + 0.15) + 0.75)
    grid_of_axes = figure.subplots(rows, columns, squeeze=False)
    flat = grid_of_axes.ravel()
    draw_classes(flat[0], data.data, codes[data.owner], len(names))
    flat[0].set_title("clouds")
    titles = _form_titles(data.forms, form_titles)
    for a, title in enumerate(titles):
        draw_arrows(flat[1 + a], data, a)
        flat[1 + a].set_title(title)
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
    form_titles: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    grid: int = 25,
    path: PathLike | None = None,
) -> Figure:
    """Draw learned 2-forms as maps of signed area over two features.

    The colour is the coefficient of dx ∧ dy: red where a form counts a small loop that turns
    counter-clockwise in the figure as positive, blue where it counts it as negative. All forms
    share one scale. With more than two features it is the mean over the points seen in each cell;
    cells without points are empty.

    Parameters
    ----------
    estimator : PointFormClassifier, PointFormRegressor, PointFormTransformer or PointFormNetwork
        A fitted model with forms of degree 2.
    clouds : list of (n_i, D) arrays
        One array per cloud, all with the same features.
    pair : pair of str or int
        Two features, by name or number.
    forms : sequence of int, optional
        Which of the forms to draw, in this order. By default all.
    form_titles : sequence of str, optional
        Titles of their panels. By default ω₁, ω₂, ….
    feature_names : sequence of str, optional
        Names of the features; those of `Clouds` are known.
    grid : int, default 25
        Number of cells per side.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> import pointforms as pf
    >>> clouds = list(np.random.default_rng(0).normal(size=(4, 20, 3)))
    >>> model = pf.PointFormTransformer(
    ...     degree=2, forms=2, hidden=(4,), epochs=0, neighbors=8
    ... ).fit(clouds)
    >>> figure = pf.plot.area_map(model, clouds, ("x", "z"))
    >>> [axes.get_title() for axes in figure.axes[:2]]
    ['ω₁', 'ω₂']
    """
    data = area_map_data(estimator, clouds, pair, grid, forms, feature_names)
    rows, columns = style.panel_grid(len(data.forms), 4)
    width = style.PAGE if columns > 2 else 2.4 * columns + 1.2
    figure = new_figure(rows * ((width - 1.5) / columns + 0.2) + 0.6, width)
    grid_of_axes = figure.subplots(rows, columns, squeeze=False)
    flat = grid_of_axes.ravel()
    for a, title in enumerate(_form_titles(data.forms, form_titles)):
        image = draw_area(flat[a], data, a)
        flat[a].set_title(title)
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
    feature_names: Sequence[str] | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draw ellipses of a Gram field in two coordinates, at points spread over the cloud.

    An ellipse is the shadow of {V u : |u| ≤ 1} on the two axes, with half-axes √λ of the block of
    G there: a stroke along a curve, a disc on a surface seen from above. Both axes and all
    ellipses have the same scale.

    Parameters
    ----------
    field : GramField
        Gram field of one cloud.
    pair : pair of str or int, default (0, 1)
        Two features, by name or number.
    count : int, default 120
        Largest number of ellipses.
    feature_names : sequence of str, optional
        Names of the features.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> import pointforms as pf
    >>> t = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> field = pf.gram_field(np.stack([np.cos(t), np.sin(t)], 1), neighbors=8)
    >>> figure = pf.plot.tangent_ellipses(field)
    >>> figure.axes[0].get_xlabel()
    'x'
    """
    names = names_or_default(feature_names, field.points.shape[1])
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
    feature_names: Sequence[str] | None = None,
    label: str | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draw the points of all clouds, coloured by energy or by contribution to the decision.

    Values with both signs get diverging colours about 0, others a scale from dark to light. The
    strongest points lie on top. The scale covers 98 % of the values.

    Parameters
    ----------
    clouds : list of (n_i, D) arrays
        One array per cloud, all with the same features.
    energies : list of (n_i,) arrays
        Values of the points of each cloud.
    directions : pair of str or int, "principal" or (2, D) array, optional
        The plane of the figure, as for :func:`form_field`.
    feature_names : sequence of str, optional
        Names of the features; those of `Clouds` are known.
    label : str, optional
        Label of the colour bar. By default "energy", or "contribution" for values of both signs.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from pointforms import plot
    >>> clouds = list(np.random.default_rng(0).normal(size=(3, 20, 2)))
    >>> figure = plot.energy_scatter(clouds, [cloud[:, 0] ** 2 for cloud in clouds])
    >>> figure.axes[1].get_ylabel()
    'energy'
    """
    tables = [np.asarray(as_tensor(c, f"cloud {i}").cpu()) for i, c in enumerate(clouds)]
    if len(tables) != len(energies):
        raise ValueError(f"energies of {len(energies)} clouds for {len(tables)} clouds")
    for i, (table, energy) in enumerate(zip(tables, energies, strict=True)):
        if np.shape(energy) != (len(table),):
            raise ValueError(
                f"energies of cloud {i} have shape {np.shape(energy)}: expected ({len(table)},)"
            )
    plane = look(clouds, directions, feature_names)
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
    tooltips: Sequence[str] | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draw clouds on the two principal components of their comparison matrices.

    Parameters
    ----------
    matrices : (N, l, l) or (N, degrees, l, l) array
        Comparison matrices of N clouds.
    labels : (N,) array, optional
        Classes of the clouds, which colour them.
    class_names : sequence of str, optional
        Names of the sorted labels.
    tooltips : sequence of str, optional
        One per cloud, shown when its mark is pointed at in SVG.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from pointforms import plot
    >>> figure = plot.comparison_pca(np.random.default_rng(0).normal(size=(10, 2, 2)))
    >>> figure.axes[0].get_xlabel()
    'PC 1 (50% of variance)'
    """
    data = comparison_pca_data(matrices)
    codes, names = _classes(labels, len(data.coordinates), class_names)
    figure = new_figure(3.5, 3.6)
    draw_pca(figure.subplots(), data, codes, len(names), tooltips)
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
    feature_names: Sequence[str] | None = None,
    output: str = "prediction",
    path: PathLike | None = None,
) -> Figure:
    """Draw one cloud's prediction, split over its points.

    Left, the points that speak for the prediction (red) and against it (blue). Right, the running
    total from the baseline to the prediction, the points with the largest contributions first:
    how many points carry it.

    Parameters
    ----------
    cloud : (n, D) array
        Points of one cloud.
    contributions : (n,) array
        Contributions of the points. The baseline plus their sum is the prediction.
    directions : pair of str or int, "principal" or (2, D) array, optional
        The plane of the figure, as for :func:`form_field`.
    baseline : float, default 0.0
        What the model predicts for the mean of the reference clouds.
    feature_names : sequence of str, optional
        Names of the features.
    output : str, default "prediction"
        What is predicted, for the labels.
    path : path-like, optional
        A file to write (.pdf, .svg, .png).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from pointforms import plot
    >>> cloud = np.random.default_rng(0).normal(size=(20, 2))
    >>> figure = plot.cloud_prediction(cloud, 0.1 * cloud[:, 0], baseline=0.5)
    >>> figure.axes[1].get_title()
    'prediction, running total'
    """
    points = np.asarray(as_tensor(cloud, "cloud").cpu(), dtype=np.float64)
    values = np.asarray(contributions, dtype=np.float64)
    if values.shape != (len(points),):
        raise ValueError(f"contributions have shape {values.shape}: expected ({len(points)},)")
    plane = look([points], directions, feature_names)
    figure = new_figure(3.1)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    shown = literal(output, 40)
    draw_values(
        figure, left, plane.project(points), values, f"contribution to {shown}", signed=True
    )
    style.square_frame(left, plane.extent, plane.axes)
    draw_running_total(right, values, baseline, shown)
    return finished(figure, path)


def _form_titles(forms: Sequence[int], titles: Sequence[str] | None) -> list[str]:
    if titles is None:
        return [style.form_name(form) for form in forms]
    if len(titles) != len(forms):
        raise ValueError(f"form_titles has {len(titles)} titles for {len(forms)} forms")
    return [literal(title) for title in titles]


def _share_ticks(grid: np.ndarray) -> None:
    """Leave tick labels only at the left and where nothing is below."""
    for r, row in enumerate(grid):
        for c, axes in enumerate(row):
            if c > 0:
                axes.set_yticklabels([])
            if r + 1 < len(grid) and grid[r + 1][c].axison:
                axes.set_xticklabels([])


def _classes(
    labels: Any, count: int, class_names: Sequence[str] | None
) -> tuple[np.ndarray, list[str]]:
    """The class of each cloud as an index, and the names of the classes."""
    if labels is None:
        return np.zeros(count, dtype=np.int64), ["clouds"]
    given = np.asarray(labels)
    if given.shape != (count,):
        raise ValueError(f"labels have shape {given.shape} for {count} clouds")
    classes, codes = np.unique(given, return_inverse=True)
    if class_names is None:
        return codes, [str(c) for c in classes.tolist()]
    if classes.dtype.kind in "iu" and classes[0] >= 0 and classes[-1] < len(class_names):
        return given, [str(name) for name in class_names]  # labels index the names, as in a task
    if len(class_names) != len(classes):
        raise ValueError(f"{len(class_names)} class names for {len(classes)} classes")
    return codes, [str(name) for name in class_names]

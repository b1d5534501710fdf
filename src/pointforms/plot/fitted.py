"""Figures of a fitted model's forms, and of the geometry they are evaluated on.

Each function returns a matplotlib figure, and writes it if a `path` (.pdf, .svg, .png) is given.
Forms are called ω₁, ω₂, …: ω₁ is the model's form 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.geometry.field import GramField
from pointforms.plot import style
from pointforms.plot.ellipses import outlines, spacing, spread_out
from pointforms.plot.form_data import FormsInPlane, area_map_data, form_field_data
from pointforms.plot.panels import RASTER, draw_arrows, draw_classes, draw_rings
from pointforms.plot.planes import Directions, feature_pair, frame, names_or_default
from pointforms.plot.style import PathLike, class_codes, finished, literal, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    codes, names = class_codes(labels, len(list(clouds)), class_names)
    rows, columns = style.panel_grid(1 + len(data.forms), 5)
    figure = new_figure(rows * ((style.PAGE - 0.6) / columns + 0.15) + 0.75)
    first, *others = style.panels(figure, (rows, columns), 1 + len(data.forms), data.extent)
    draw_classes(first, data.data, codes[data.owner], len(names))
    first.set_title("clouds")
    for a, (axes, title) in enumerate(zip(others, _titles(data, form_titles), strict=True)):
        draw_arrows(axes, data, a)
        axes.set_title(title)
    _name_axes(figure, data, "arrows")
    if len(names) > 1:
        style.add_legend(figure, style.class_marks(names), 6)
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
    limit = data.limit()
    panels = style.panels(figure, (rows, columns), len(data.forms), data.extent)
    for axes, values, title in zip(panels, data.values, _titles(data, form_titles), strict=True):
        image = axes.imshow(
            values,
            extent=data.extent,
            origin="lower",
            aspect="auto",
            cmap=style.DIVERGING,
            vmin=-limit,
            vmax=limit,
            interpolation="nearest",
        )
        axes.set_title(title)
    _name_axes(figure, data, "colours")
    figure.colorbar(
        image,
        ax=figure.axes,
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
    points, factor = field.points[:, [i, j]].double().cpu(), field.factor[:, [i, j]].double().cpu()
    left, right, bottom, top = frame(points.numpy(), one_scale=False)
    tall = float(np.clip((top - bottom) / (right - left), 0.3, 1.5))
    figure = new_figure(3.1 * tall + 0.4, 3.6)
    axes = figure.subplots()
    chosen = spread_out(points, count)
    x, y = points.numpy().T
    axes.scatter(x, y, s=2.5, color=style.GREY, linewidths=0, rasterized=len(points) > RASTER)
    draw_rings(axes, outlines(points[chosen], factor[chosen], 0.5 * spacing(points[chosen])))
    axes.set(
        xlim=(left, right), ylim=(bottom, top), xlabel=literal(names[i]), ylabel=literal(names[j])
    )
    axes.set_aspect("equal", adjustable="box")
    axes.locator_params(nbins=5)
    return finished(figure, path)


def _titles(data: FormsInPlane, titles: Sequence[str] | None) -> list[str]:
    if titles is None:
        return [style.form_name(form) for form in data.forms]
    if len(titles) != len(data.forms):
        raise ValueError(f"form_titles has {len(titles)} titles for {len(data.forms)} forms")
    return [literal(title) for title in titles]


def _name_axes(figure: Figure, data: FormsInPlane, drawn: str) -> None:
    note = f"\n{drawn}: means over the points seen in each cell" if data.averaged else ""
    figure.supxlabel(literal(data.axes[0]) + note)
    figure.supylabel(literal(data.axes[1]))

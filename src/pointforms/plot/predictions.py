"""Figures of what a fitted model makes of clouds: energies, matrices, single predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.plot import style
from pointforms.plot.form_data import comparison_pca_data
from pointforms.plot.panels import draw_pca, draw_running_total, draw_values
from pointforms.plot.planes import Directions, look
from pointforms.plot.style import PathLike, class_codes, finished, literal, new_figure, styled
from pointforms.tensors import as_tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        The plane of the figure, as for :func:`pointforms.plot.form_field`.
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
    codes, names = class_codes(labels, len(data.coordinates), class_names)
    figure = new_figure(3.5, 3.6)
    draw_pca(figure.subplots(), data, codes, len(names), tooltips)
    if len(names) > 1:
        style.add_legend(figure, style.class_marks(names), 4)
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
        The plane of the figure, as for :func:`pointforms.plot.form_field`.
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

"""The numbers behind figures of learned forms.

With two features the plane of the figure is the whole space, and forms are evaluated at the centres
of those grid cells that have data near. With more features a place in the plane is not a point of
the space: forms are then evaluated at the data and averaged over the points seen in each cell, and
nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from pointforms.explain.coefficients import check_absolute, coefficients
from pointforms.exterior import multi_indices
from pointforms.plot.planes import Directions, Extent, Plane, cell_centres, look
from pointforms.support.checks import check_int

# Coefficients held at once.
_WORKING_SET = 1 << 23


@dataclass(frozen=True, eq=False, kw_only=True)
class FormsInPlane:
    """Learned forms over the data, seen in a plane.

    Attributes
    ----------
    axes : tuple of str
        Names of the two axes.
    forms : tuple of int
        Indices of the l forms in the model.
    extent : tuple of float
        Left, right, bottom and top of the frame.
    averaged : bool
        Whether values are means over the points seen in a cell (D > 2).
    data : (n, 2) array
        The points of the clouds, in the plane.
    owner : (n,) array
        The cloud of each point.
    """

    axes: tuple[str, str]
    forms: tuple[int, ...]
    extent: Extent
    averaged: bool
    data: np.ndarray
    owner: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class FormField(FormsInPlane):
    """Learned 1-forms as arrows in a plane.

    Attributes
    ----------
    points : (m, 2) array
        Centres of the grid cells that have data.
    vectors : (m, l, 2) array
        Values of the l forms on the two directions, in units of the data: ω_a(v_1), ω_a(v_2).
    grid : int
        Number of cells per side.
    """

    points: np.ndarray
    vectors: np.ndarray
    grid: int

    def arrows(self) -> np.ndarray:
        """Return the arrows (m, l, 2) to draw in a square frame, in units of the axes.

        In a frame of unit sides, X = x / w and Y = y / h, a form a dx + b dy is wa dX + hb dY.
        The arrow is that vector, at right angles to the drawn kernel of the form, and has the
        length of a cell where the form is as large as its 0.9 quantile; it never exceeds 1.4.
        """
        left, right, bottom, top = self.extent
        span = np.array([right - left, top - bottom])
        seen = self.vectors * span
        length = np.linalg.norm(seen, axis=-1, keepdims=True)
        typical = np.quantile(length, 0.9, axis=0, keepdims=True)
        relative = length / np.where(typical > 0, typical, 1.0)
        unit = seen / np.where(length > 0, length, 1.0)
        arrows: np.ndarray = unit * np.minimum(relative, 1.4) * span / self.grid
        return arrows


@dataclass(frozen=True, eq=False, kw_only=True)
class AreaMap(FormsInPlane):
    """Learned 2-forms as signed areas over two features.

    Attributes
    ----------
    values : (l, grid, grid) array
        The coefficient of dx ∧ dy, x and y the features of the axes: the value of a form on a unit
        square, turned counter-clockwise in the figure. Rows go upwards; NaN without data.
    pair : tuple of int
        The two features.
    """

    values: np.ndarray
    pair: tuple[int, int]

    def limit(self) -> float:
        """Return half the range of symmetric colours: the 0.98 quantile of |values|."""
        values = np.abs(self.values)
        limit = float(np.nanquantile(values, 0.98)) if np.isfinite(values).any() else 0.0
        return limit if limit > 0 else 1.0

    def centres(self) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y of the cells: (grid,) each."""
        return cell_centres(self.extent, self.values.shape[-1])


@dataclass(frozen=True, eq=False)
class ComparisonPCA:
    """Clouds by their comparison matrices, on the two axes of largest variance.

    Attributes
    ----------
    coordinates : (N, 2) array
    explained : (2,) array
        Shares of the variance.
    components : (2, ..., l, l) array
        The matrices, of Frobenius norm 1, along which the axes run; shaped as those given.
    mean : (..., l, l) array
    """

    coordinates: np.ndarray
    explained: np.ndarray
    components: np.ndarray
    mean: np.ndarray


def form_field_data(
    estimator: Any,
    clouds: Any,
    directions: Directions = None,
    grid: int = 17,
    forms: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
) -> FormField:
    """Return the learned 1-forms of a fitted model over its data.

    Parameters
    ----------
    estimator : PointFormClassifier, PointFormRegressor, PointFormTransformer or PointFormNetwork
        A fitted model with forms of degree 1.
    clouds : list of (n_i, D) arrays
        One array per cloud, all with the same features.
    directions : pair of str or int, "principal" or (2, D) array, optional
        The plane: two features, the two principal directions of all points, or two directions at
        right angles. By default the features themselves for D = 2, else "principal".
    grid : int, default 17
        Number of cells per side.
    forms : sequence of int, optional
        Which of the forms. By default all.
    feature_names : sequence of str, optional
        Names of the features; those of `Clouds` are known.

    Returns
    -------
    FormField

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = list(np.random.default_rng(0).normal(size=(4, 20, 2)))
    >>> model = pf.PointFormTransformer(forms=3, hidden=(4,), epochs=0, neighbors=8).fit(clouds)
    >>> data = pf.plot.form_field_data(model, clouds)
    >>> data.vectors.shape[1:], data.axes
    ((3, 2), ('x', 'y'))
    """
    check_int("grid", grid, at_least=2)
    plane = look(clouds, directions, feature_names)
    check_absolute(estimator)
    probe = coefficients(estimator, plane.points[:1], 1)
    chosen = _chosen(forms, probe.shape[1])

    def along(points: np.ndarray) -> np.ndarray:
        values: np.ndarray = coefficients(estimator, points, 1)[:, chosen] @ plane.directions.T
        return values

    places, values, kept = _over_cells(plane, grid, along, probe[0].size)
    return FormField(points=places[kept], vectors=values[kept], grid=grid, **_common(plane, chosen))


def area_map_data(
    estimator: Any,
    clouds: Any,
    pair: Sequence[int] | Sequence[str],
    grid: int = 25,
    forms: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
) -> AreaMap:
    """Return the learned 2-forms of a fitted model on two features.

    Parameters
    ----------
    estimator : PointFormClassifier, PointFormRegressor, PointFormTransformer or PointFormNetwork
        A fitted model with forms of degree 2.
    clouds : list of (n_i, D) arrays
        One array per cloud, all with the same features.
    pair : pair of str or int
        Two features, by name or number; the first runs to the right. Values of (j, i) are the
        negatives of those of (i, j).
    grid : int, default 25
        Number of cells per side.
    forms : sequence of int, optional
        Which of the forms. By default all.
    feature_names : sequence of str, optional
        Names of the features; those of `Clouds` are known.

    Returns
    -------
    AreaMap

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = list(np.random.default_rng(0).normal(size=(4, 20, 3)))
    >>> model = pf.PointFormTransformer(
    ...     degree=2, forms=2, hidden=(4,), epochs=0, neighbors=8
    ... ).fit(clouds)
    >>> pf.plot.area_map_data(model, clouds, (0, 2), grid=5).values.shape
    (2, 5, 5)
    """
    check_int("grid", grid, at_least=2)
    plane = look(clouds, pair, feature_names)
    if plane.pair is None:
        raise ValueError(f"pair={pair!r}: expected two features")
    i, j = plane.pair
    D = plane.points.shape[1]
    column = [tuple(I) for I in multi_indices(D, 2).tolist()].index((min(i, j), max(i, j)))
    sign = 1.0 if i < j else -1.0
    check_absolute(estimator)
    probe = coefficients(estimator, plane.points[:1], 2)
    chosen = _chosen(forms, probe.shape[1])

    def area(points: np.ndarray) -> np.ndarray:
        values: np.ndarray = sign * coefficients(estimator, points, 2)[:, chosen, column]
        return values

    _, values, kept = _over_cells(plane, grid, area, probe[0].size)
    values = np.where(kept[:, None], values, np.nan)
    return AreaMap(
        values=values.T.reshape(len(chosen), grid, grid),
        pair=plane.pair,
        **_common(plane, chosen),
    )


def comparison_pca_data(matrices: np.ndarray) -> ComparisonPCA:
    """Return the principal components of comparison matrices.

    Matrices are vectors under the Frobenius inner product, so that an entry off the diagonal
    counts for both its places. Signs are such that the largest entry of a component is positive.

    Parameters
    ----------
    matrices : (N, l, l) or (N, degrees, l, l) array
        Comparison matrices of N clouds.

    Returns
    -------
    ComparisonPCA

    Examples
    --------
    >>> data = comparison_pca_data(np.arange(5.0)[:, None, None] * np.eye(2))
    >>> data.explained.round(6)
    array([1., 0.])
    """
    given = np.asarray(matrices, dtype=np.float64)
    if given.ndim not in (3, 4) or given.shape[-1] != given.shape[-2]:
        raise ValueError(f"matrices have shape {given.shape}: expected (N, l, l)")
    if len(given) < 2:
        raise ValueError(f"{len(given)} matrix: principal components need at least 2")
    if not np.isfinite(given).all():
        raise ValueError("the matrices have non-finite entries")
    mean = given.mean(0)
    flat = (given - mean).reshape(len(given), -1)
    _, S, W = np.linalg.svd(flat, full_matrices=False)
    count = min(2, len(S))
    components = np.zeros((2, flat.shape[1]))
    components[:count] = W[:count]
    largest = np.take_along_axis(components, np.abs(components).argmax(1)[:, None], 1)
    components *= np.where(largest < 0, -1.0, 1.0)
    total = float((S**2).sum())
    explained = np.zeros(2)
    explained[:count] = S[:count] ** 2 / total if total > 0 else 0.0
    return ComparisonPCA(
        flat @ components.T, explained, components.reshape(2, *given.shape[1:]), mean
    )


def _over_cells(
    plane: Plane, grid: int, evaluate: Any, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres of all cells, a function's value in each, and which cells have data."""
    places, cell = plane.cells(grid)
    if plane.flat:
        kept = plane.near_data(places, grid)
        return places, evaluate(places @ plane.directions), kept
    inside = np.flatnonzero(cell >= 0)
    step = max(1, _WORKING_SET // width)
    batches = gen_batches(len(inside), step)
    values = np.concatenate([evaluate(plane.points[inside[rows]]) for rows in batches])
    total = np.zeros((grid * grid, *values.shape[1:]))
    np.add.at(total, cell[inside], values)
    count = np.bincount(cell[inside], minlength=grid * grid)
    shape = (-1,) + (1,) * (total.ndim - 1)
    return places, total / np.maximum(count, 1).reshape(shape), count > 0


def _common(plane: Plane, chosen: tuple[int, ...]) -> dict[str, Any]:
    """The fields of a :class:`FormsInPlane`."""
    return {
        "axes": plane.axes,
        "forms": chosen,
        "extent": plane.extent,
        "averaged": not plane.flat,
        "data": plane.view,
        "owner": plane.owner,
    }


def _chosen(forms: Sequence[int] | None, count: int) -> tuple[int, ...]:
    if forms is None:
        return tuple(range(count))
    for a in forms:
        if not 0 <= a < count:
            raise ValueError(f"no form {a}: the model has {count}, 0 to {count - 1}")
    if not len(forms):
        raise ValueError("forms is empty: expected at least one index")
    return tuple(int(a) for a in forms)

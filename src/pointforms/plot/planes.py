"""Clouds seen in a plane: its axes, its frame, and which cells of the frame hold data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pointforms.clouds import Clouds, as_clouds
from pointforms.support.suggestions import suggest

# Two features, by name or number; two directions (2, D) at right angles; or None, which is the
# plane itself for D = 2 and the principal directions otherwise.
Directions = Sequence[int] | Sequence[str] | np.ndarray | Literal["principal"] | None
Extent = tuple[float, float, float, float]

# Points that figures are made of; more would change no visible average.
MOST_POINTS = 20_000
# Axes whose ranges differ by less than this factor share one scale.
_COMPARABLE = 3.0


@dataclass(frozen=True, eq=False)
class Plane:
    """Points of clouds seen along two directions.

    Attributes
    ----------
    points : (n, D) array
        At most `MOST_POINTS` points of all clouds, chosen at random (always the same ones).
    owner : (n,) array
        The cloud of each point.
    directions : (2, D) array
        Orthonormal.
    origin : (D,) array
        0 for features, the mean for principal directions.
    pair : tuple of int or None
        The two features; None for other directions.
    axes : tuple of str
        Names of the two axes.
    extent : tuple of float
        Left, right, bottom and top of a frame about the data, without far outliers. Its sides are
        equal unless the ranges of the two axes differ more than threefold.
    """

    points: np.ndarray
    owner: np.ndarray
    directions: np.ndarray
    origin: np.ndarray
    pair: tuple[int, int] | None
    axes: tuple[str, str]
    extent: Extent

    @property
    def view(self) -> np.ndarray:
        """Return the points in the plane: (n, 2)."""
        return self.project(self.points)

    @property
    def flat(self) -> bool:
        """Whether the plane is the whole space (D = 2)."""
        return self.points.shape[1] == 2 and self.pair is not None

    def project(self, points: np.ndarray) -> np.ndarray:
        """Project points to the plane: (n, D) -> (n, 2)."""
        seen: np.ndarray = (points - self.origin) @ self.directions.T
        return seen

    def cells(self, grid: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the centres (grid², 2) of the frame's cells, from below, and each point's cell.

        The cell of a point outside the frame is -1.
        """
        left, right, bottom, top = self.extent
        x, y = np.meshgrid(*cell_centres(self.extent, grid))
        low, span = np.array([left, bottom]), np.array([right - left, top - bottom])
        place = np.floor((self.view - low) / span * grid).astype(np.int64)
        inside = ((place >= 0) & (place < grid)).all(1)
        cell = np.where(inside, place[:, 1] * grid + place[:, 0], -1)
        return np.column_stack([x.ravel(), y.ravel()]), cell

    def near_data(self, places: np.ndarray, grid: int) -> np.ndarray:
        """Return which places (m, 2) have a point within one side of a cell: (m,) of bool."""
        from scipy.spatial import cKDTree

        left, right, bottom, top = self.extent
        unit = np.array([right - left, top - bottom]) / grid
        distance, _ = cKDTree(self.view / unit).query(places / unit, distance_upper_bound=1.0)
        near: np.ndarray = np.isfinite(distance)
        return near


def look(
    clouds: Any, directions: Directions = None, feature_names: Sequence[str] | None = None
) -> Plane:
    """Return the plane in which clouds are seen.

    Parameters
    ----------
    clouds : list of (n_i, D) arrays
        One array per cloud, all with the same features.
    directions : pair of str or int, "principal" or (2, D) array, optional
        Two features, or two directions at right angles; "principal" takes the two directions along
        which the points of all clouds vary most about their mean. By default the plane itself for
        D = 2, else "principal".
    feature_names : sequence of str, optional
        Names of the D features; those of `Clouds` are known.
    """
    named = feature_names is None and isinstance(clouds, Clouds)
    tables = [np.asarray(c.cpu(), dtype=np.float64) for c in as_clouds(clouds, distinct=False)]
    owner = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    points = np.concatenate(tables)
    D = points.shape[1]
    if D < 2:
        raise ValueError("the clouds have 1 feature: a plane needs 2")
    names = names_or_default(clouds.feature_names if named else feature_names, D)
    if len(points) > MOST_POINTS:
        kept = np.sort(np.random.default_rng(0).choice(len(points), MOST_POINTS, replace=False))
        points, owner = points[kept], owner[kept]
    pair, axes, basis, origin = _axes(points, directions, names)
    extent = frame((points - origin) @ basis.T)
    return Plane(points, owner, basis, origin, pair, axes, extent)


def cell_centres(extent: Extent, grid: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of the cells of a frame: (grid,) each."""
    left, right, bottom, top = extent
    steps = (np.arange(grid) + 0.5) / grid
    return left + steps * (right - left), bottom + steps * (top - bottom)


def feature_pair(pair: Any, names: Sequence[str]) -> tuple[int, int]:
    """Return two different features, given by name or number, as numbers."""
    given = list(pair)
    if len(given) != 2:
        raise ValueError(f"{len(given)} features ({given!r}): expected 2")
    numbers = []
    for feature in given:
        if isinstance(feature, str):
            if feature not in names:
                raise ValueError(f"no feature {feature!r}: {suggest(feature, names)}")
            numbers.append(list(names).index(feature))
        else:
            if not 0 <= int(feature) < len(names):
                raise ValueError(f"no feature {feature}: there are 0 to {len(names) - 1}")
            numbers.append(int(feature))
    if numbers[0] == numbers[1]:
        raise ValueError(f"both features are {names[numbers[0]]!r}: a plane needs two")
    return numbers[0], numbers[1]


def frame(seen: np.ndarray, one_scale: bool = True) -> Extent:
    """Return a frame about points (n, 2), with a margin; far outliers may lie outside.

    With `one_scale`, its sides are equal where the ranges differ less than threefold.
    """
    low, high = np.quantile(seen, 0.01, axis=0), np.quantile(seen, 0.99, axis=0)
    reach = 0.25 * (high - low)
    low = np.maximum(seen.min(0), low - reach)
    high = np.minimum(seen.max(0), high + reach)
    span = high - low
    span = np.where(span > 0, span, span.max() if span.max() > 0 else 1.0)
    if one_scale and span.max() < _COMPARABLE * span.min():
        span = np.full(2, span.max())
    centre = (low + high) / 2
    (left, bottom), (right, top) = centre - 0.54 * span, centre + 0.54 * span
    return float(left), float(right), float(bottom), float(top)


def names_or_default(feature_names: Sequence[str] | None, D: int) -> tuple[str, ...]:
    """Return the names of D features: those given, or x, y, z, or x0, x1, …."""
    if feature_names is None:
        return tuple("xyz"[:D]) if D <= 3 else tuple(f"x{i}" for i in range(D))
    if len(feature_names) != D:
        raise ValueError(f"feature_names has {len(feature_names)} names for {D} features")
    return tuple(str(name) for name in feature_names)


def _axes(
    points: np.ndarray, directions: Directions, names: tuple[str, ...]
) -> tuple[tuple[int, int] | None, tuple[str, str], np.ndarray, np.ndarray]:
    """The features, the names of the axes, the directions, and the origin."""
    D = points.shape[1]
    if directions is None:
        directions = (0, 1) if D == 2 else "principal"
    if isinstance(directions, str):
        if directions != "principal":
            raise ValueError(
                f"directions={directions!r}: expected two features, 'principal', or (2, {D})"
            )
        return _principal(points)
    if isinstance(directions, np.ndarray) and directions.ndim == 2:
        return None, ("direction 1", "direction 2"), _orthonormal(directions, D), np.zeros(D)
    i, j = feature_pair(directions, names)
    return (i, j), (names[i], names[j]), np.eye(D)[[i, j]], np.zeros(D)


def _principal(points: np.ndarray) -> tuple[None, tuple[str, str], np.ndarray, np.ndarray]:
    origin = points.mean(0)
    values, vectors = np.linalg.eigh(np.cov((points - origin).T))
    basis = vectors[:, :-3:-1].T
    # the sign of a direction is arbitrary: make its largest component positive
    largest = np.take_along_axis(basis, np.abs(basis).argmax(1)[:, None], 1)
    share = values[:-3:-1] / max(float(values.sum()), np.finfo(float).tiny)
    names = [f"principal direction {a + 1} ({share[a]:.0%} of variance)" for a in range(2)]
    return None, (names[0], names[1]), basis * np.sign(largest), origin


def _orthonormal(directions: np.ndarray, D: int) -> np.ndarray:
    basis: np.ndarray = np.array(directions, dtype=np.float64)
    if basis.shape != (2, D):
        raise ValueError(f"directions have shape {basis.shape}: expected (2, {D})")
    length = np.linalg.norm(basis, axis=1, keepdims=True)
    if not (length > 0).all():
        raise ValueError("a direction is zero")
    basis /= length
    if abs(float(basis[0] @ basis[1])) > 1e-6:
        raise ValueError("the two directions are not at right angles")
    return basis

"""Hodge features: point-forms whose forms are fixed instead of learned.

Two families of fixed features of a cloud, and a penalised logistic regression on them:

- comparison matrices of fixed forms z^a dz^I, polynomials times coordinate forms, of degree
  0, 1 and 2;
- spectra of the Hodge Laplacians L0 and L1 of a clique complex on the cloud.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import comb
from typing import Annotated, Any, Literal, Self

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from pointforms.clouds import cloud_list, plain_clouds
from pointforms.estimators.common_geometry import CommonGeometry, prepare_fields
from pointforms.estimators.point_form_options import Degree
from pointforms.estimators.units import Scale, Units
from pointforms.exterior import check_degree, compound
from pointforms.geometry.field import GramField, Measure
from pointforms.geometry.settings import Dimension, GramSettings
from pointforms.models.classical import FeatureClassifier
from pointforms.models.heads import Head
from pointforms.support.cloud_estimator import TakesClouds
from pointforms.support.options import Bounds, Count, NotEmpty, RandomState
from pointforms.support.weighted_statistics import pooled_weights, weighted_mean
from pointforms.weights import relative_weights

_ORDERS = 2  # polynomials up to quadratic
_SMALLEST = 8  # eigenvalues of each Laplacian
_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)  # quantiles of each spectrum
_SPECTRAL_FEATURES = 2 * (_SMALLEST + len(_LEVELS) + 2)
_ZERO = 1e-8  # eigenvalues below are harmonic
_POINTS = 1 << 15  # points whose features are computed at once


@dataclass(kw_only=True, eq=False, repr=False)
class HodgeOptions:
    """Options of Hodge features, which :class:`HodgeFeatures` documents."""

    degrees: Annotated[Sequence[Degree], NotEmpty()] = (0, 1, 2)
    directions: Count = 6
    max_features: Count = 1500
    spectra: bool = True
    landmarks: Annotated[int, Bounds(at_least=2)] = 64
    complex_neighbors: Count = 6
    measure: Measure = "uniform"
    neighbors: int | Literal["auto"] = 32
    dimension: Dimension = "local-pca"
    scale: Scale | None = "standard"
    cache: str | os.PathLike[str] | None = None

    def check_options(self) -> None:
        """Raise an error if an option has a value that no fit can work with."""
        super().check_options()  # type: ignore[misc]
        GramSettings(neighbors=self.neighbors, dimension=self.dimension)


class HodgeFeatures(
    HodgeOptions,
    TakesClouds,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Comparison matrices of fixed forms, and Hodge spectra.

    The forms live in coordinates z = A (x - m): standardised by the training clouds and, where
    there are more than `directions` of them, rotated to the leading principal directions. The
    factor follows, V <- A V. With polynomials up to order p the comparison matrix of the forms
    z^a dz^I of degree k has the distinct entries

        Σ_p μ(p) z(p)^c ⟨dz^I, dz^J⟩(p),   |c| ≤ 2p,  I ≤ J,

    and those are the features, with the largest p ≤ 2 that keeps them below `max_features`. The
    constant and linear forms of all D coordinates are added where their number allows it.

    There are two frames: the coordinates z of the training clouds, where position counts, and
    z less its mean over the cloud, where shape does (the mean itself is kept beside).

    The spectra are those of the clique complex of a symmetric nearest-neighbour graph on at most
    `landmarks` points of the cloud, chosen one after the other farthest from those before: of
    L0 = I - D^(-1/2) A D^(-1/2) and of L1 = B1ᵀ B1 + B2 B2ᵀ the smallest eigenvalues, quantiles
    and the number of zeros (connected components, and loops).

    Parameters
    ----------
    degrees : sequence of int, default (0, 1, 2)
        Degrees of the forms.
    directions : int, default 6
        Largest number of coordinates; wider clouds are reduced to principal directions.
    max_features : int, default 1500
        Largest number of features of one degree in one set of coordinates.
    spectra : bool, default True
        Whether the Hodge spectra belong to the features.
    landmarks : int, default 64
        Number of points of the clique complex.
    complex_neighbors : int, default 6
        Number of neighbours of each point in its graph.
    measure : {"uniform", "volume", "volume-normalized"}, default "uniform"
    neighbors : int or "auto", default 32
        Number of neighbours of a point in the Gram fields, itself included.
    dimension : int, "local-pca" or None, default "local-pca"
        Intrinsic dimension, or how the training clouds choose it.
    scale : {"standard", "isotropic", "robust"} or None, default "standard"
        Units in which neighbours are searched, learned from the training clouds.
    cache : path-like, optional
        Folder in which Gram fields are kept.

    Attributes
    ----------
    mean_ : (D,) array
        m.
    axes_ : (q, D) array
        A.
    neighbors_, dimension_, n_features_in_ : int
    """

    def prepare(self, clouds: Any) -> list[GramField]:
        """Compute the Gram fields of clouds; given ones get the numbers of `fit`, if any.

        Before `fit`, and unless scale=None, the clouds are returned as they are.
        """
        clouds = self._by_name(cloud_list(clouds))
        units: Units | None = getattr(self, "units_", None)
        if self.scale is not None and units is None:
            return list(clouds)
        settings = GramSettings(
            neighbors=getattr(self, "neighbors_", None) or self.neighbors,
            dimension=getattr(self, "dimension_", None) or self.dimension,
        )
        return prepare_fields(clouds, settings, cache=self.cache, units=units)

    def fit(self, clouds: Any, y: Any = None) -> Self:
        """Learn the coordinates from the training clouds."""
        self.check_options()
        clouds = cloud_list(clouds)
        self._keep_names(clouds)
        self._forget("neighbors_", "dimension_", "units_")
        settings = GramSettings(neighbors=self.neighbors, dimension=self.dimension)
        seen: Any = self._by_name(clouds)
        if self.scale is not None:
            points = plain_clouds(seen)
            self.units_ = Units.learn(points, self.scale)
            seen = seen if isinstance(seen[0], GramField) else self.units_.scaled(points)
        choice = CommonGeometry(seen, settings).choose()
        self.neighbors_, self.dimension_ = choice.neighbors, choice.dimension
        fields = self.prepare(clouds)
        x = np.concatenate([_numbers(field.points) for field in fields])
        mass = pooled_weights([f.weights for f in fields], [len(f) for f in fields])
        weights = None if mass is None else (mass / mass.sum()).numpy()
        self.n_features_in_ = x.shape[1]
        self.mean_ = x.mean(0) if weights is None else weights @ x
        spread = x.std(0) if weights is None else np.sqrt(weights @ (x - self.mean_) ** 2)
        self.scale_ = np.where(spread > 0, spread, 1.0)
        self.axes_ = np.diag(1 / self.scale_)
        if x.shape[1] > self.directions:
            z = (x - self.mean_) / self.scale_
            product = z.T @ z / len(z) if weights is None else z.T @ (z * weights[:, None])
            _, vectors = np.linalg.eigh(product)
            leading = vectors[:, ::-1][:, : self.directions].T
            self.axes_ = leading / self.scale_
        return self

    def transform(self, clouds: Any) -> np.ndarray:
        """Return features (N, f) of a list of (n_i, D) clouds, or of their Gram fields."""
        check_is_fitted(self, "axes_")
        fields = self.prepare(clouds)
        self._check_width(fields[0].points.shape[1])
        centres = [weighted_mean(field.points, relative_weights(field)) for field in fields]
        centred = [
            replace(field, points=field.points - centre)
            for field, centre in zip(fields, centres, strict=True)
        ]
        mean = torch.from_numpy(self.mean_)
        parts = self._comparisons(fields, mean) + self._comparisons(centred, 0 * mean)
        parts.append((np.stack([_numbers(c) for c in centres]) - self.mean_) / self.scale_)
        if self.spectra:
            scaled = [_numbers(field.points) / self.scale_ for field in fields]
            landmarks = [_landmarks(points, self.landmarks) for points in scaled]
            spectra = [hodge_spectrum(points, self.complex_neighbors) for points in landmarks]
            parts.append(np.stack(spectra))
        features: np.ndarray = np.concatenate(parts, axis=1)
        finite = np.isfinite(features).all(1)
        if not finite.all():
            i = int(finite.argmin())
            raise ValueError(
                f"cloud {i} has coordinates up to {float(fields[i].points.abs().max()):.3g}, whose "
                "powers overflow: it is too far from the clouds of fit"
            )
        return features

    def choices(self) -> dict[str, np.ndarray]:
        """Return the columns of each frame, with and without the spectra."""
        check_is_fitted(self, "axes_")
        count = sum(count_features(len(axes), k, p) for axes, k, p in self._families())
        frames = {
            "training frame": np.arange(count),
            "cloud frame": np.arange(count, 2 * count + self.n_features_in_),
        }
        if not self.spectra:
            return frames
        spectra = 2 * count + self.n_features_in_ + np.arange(_SPECTRAL_FEATURES)
        joined = {f"{f} and spectra": np.append(frames[f], spectra) for f in frames}
        return joined | frames

    @property
    def _n_features_out(self) -> int:
        return 1 + int(max(columns.max() for columns in self.choices().values()))

    def _comparisons(self, fields: Sequence[GramField], mean: Tensor) -> list[np.ndarray]:
        return [
            comparison_features(fields, mean, torch.from_numpy(axes), degree, order, self.measure)
            for axes, degree, order in self._families()
        ]

    def _families(self) -> list[tuple[np.ndarray, int, int]]:
        """Return coordinates, degree and polynomial order of every family of forms."""
        q, D = self.axes_.shape
        check_degree(min(self.degrees), q)  # higher ones may be left out, but not all
        families = []
        for degree in self.degrees:
            if degree <= q:
                fitting = [p for p in range(_ORDERS + 1) if self._fits(q, degree, p)]
                families.append((self.axes_, int(degree), max(fitting, default=0)))
            order = 1 if degree == 0 else 0
            if q < D and degree <= 1 and self._fits(D, degree, order):
                families.append((np.diag(1 / self.scale_), int(degree), order))
        return families

    def _fits(self, q: int, degree: int, order: int) -> bool:
        return count_features(q, degree, order) <= self.max_features


@dataclass(kw_only=True, eq=False, repr=False)
class HodgeClassifier(HodgeOptions, FeatureClassifier):
    """Penalised logistic regression on Hodge features.

    The frame, and whether spectra are used, is chosen with the penalty inside the training clouds.
    The parameters are those of :class:`HodgeFeatures`, and `head` and `random_state` of
    :class:`pointforms.models.classical.FeatureClassifier`.
    """

    head: Head = "logistic"
    random_state: RandomState = None

    def unfitted_features(self) -> HodgeFeatures:
        """Return the transformer, with the options of this classifier."""
        names = HodgeOptions.__dataclass_fields__
        return HodgeFeatures(**{name: getattr(self, name) for name in names})


def count_features(q: int, degree: int, order: int) -> int:
    """Return the number of distinct entries of the comparison matrix of z^a dz^I, |a| ≤ order."""
    return comb(q + 2 * order, q) * comb(comb(q, degree) + 1, 2)


def comparison_features(
    fields: Sequence[GramField],
    mean: Tensor,
    axes: Tensor,
    degree: int,
    order: int,
    measure: Measure = "uniform",
) -> np.ndarray:
    """Return Σ_p μ(p) z(p)^c ⟨dz^I, dz^J⟩(p), |c| ≤ 2 order, I ≤ J, z = axes (x - mean): (N, f).

    Monomials are sorted by their order, then as in
    :func:`itertools.combinations_with_replacement`; for each the pairs (I, J) follow in the order
    of an upper triangle.
    """
    q = axes.shape[0]
    rows, columns = torch.triu_indices(comb(q, degree), comb(q, degree))
    features: list[np.ndarray] = []
    for some in _chunks(fields):
        x = torch.cat([field.points.double().cpu() for field in some])
        monomials = _monomials((x - mean) @ axes.T, 2 * order)
        pairs = x.new_ones(len(x), 1)
        if degree > 0:
            factors = [axes @ field.factor.double().cpu() for field in some]
            G = torch.cat([V @ V.mT for V in factors])
            pairs = compound(G, degree)[:, rows, columns]
        start = 0
        for field in some:
            part = slice(start, start := start + len(field))
            weighted = monomials[part] * field.measure(measure).double().cpu().unsqueeze(1)
            features.append((weighted.T @ pairs[part]).flatten().numpy())
    return np.stack(features)


def _monomials(z: Tensor, order: int) -> Tensor:
    """Return all monomials of z (n, q) up to an order: (n, C(q + order, q))."""
    n, q = z.shape
    columns = [z.new_ones(n)]
    known: dict[tuple[int, ...], Tensor] = {(): columns[0]}
    for length in range(1, order + 1):
        for powers in combinations_with_replacement(range(q), length):
            known[powers] = known[powers[:-1]] * z[:, powers[-1]]
            columns.append(known[powers])
    return torch.stack(columns, 1)


def _chunks(fields: Sequence[GramField]) -> list[list[GramField]]:
    chunks: list[list[GramField]] = [[]]
    points = 0
    for field in fields:
        if chunks[-1] and points + len(field) > _POINTS:
            chunks.append([])
            points = 0
        chunks[-1].append(field)
        points += len(field)
    return chunks


def hodge_spectrum(points: np.ndarray, neighbors: int) -> np.ndarray:
    """Return summaries of the spectra of L0 and L1 of the clique complex of a cloud (n, D).

    The graph joins a point with its nearest `neighbors` others, or all where there are fewer.
    The summaries of a spectrum are its eight smallest eigenvalues (the largest is repeated where
    there are fewer), five quantiles, and the number of zeros, also as a share of the vertices.
    """
    B1, B2 = clique_complex(points, neighbors)
    degree = np.maximum(np.asarray(abs(B1).sum(1)), 1)
    root = 1 / np.sqrt(degree)
    # B1 B1ᵀ = D - A, so this is I - D^(-1/2) A D^(-1/2)
    L0 = (B1 @ B1.T).toarray() * root[:, None] * root
    L1 = (B1.T @ B1 + B2 @ B2.T).toarray()
    parts: list[np.ndarray] = []
    for L in (L0, L1):
        values = np.linalg.eigvalsh(L)
        smallest = np.pad(values[:_SMALLEST], (0, max(0, _SMALLEST - len(values))), mode="edge")
        zeros = np.count_nonzero(values < _ZERO * max(1.0, values[-1]))
        shares = np.array([zeros, zeros / len(points)])
        parts += [smallest, np.quantile(values, _LEVELS), shares]
    return np.concatenate(parts)


def clique_complex(points: np.ndarray, neighbors: int) -> tuple[csr_array, csr_array]:
    """Return boundary maps B1 (vertices × edges) and B2 (edges × triangles) of a clique complex.

    Satisfies B1 B2 = 0.
    """
    n = len(points)
    squared = cdist(points, points, "sqeuclidean")
    np.fill_diagonal(squared, np.inf)
    nearest = np.argsort(squared, axis=1, kind="stable")[:, : min(neighbors, n - 1)]
    adjacent = np.zeros((n, n), dtype=bool)
    adjacent[np.arange(n)[:, None], nearest] = True
    adjacent |= adjacent.T
    tail, head = np.nonzero(np.triu(adjacent))
    edge = np.zeros((n, n), dtype=np.int64)
    edge[tail, head] = np.arange(len(tail))
    # triangles a < b < c: a vertex c behind the edge (a, b) and next to both
    base, c = np.nonzero(adjacent[tail] & adjacent[head] & (np.arange(n) > head[:, None]))
    a, b = tail[base], head[base]
    B1 = _incidence([tail, head], [-1, 1], (n, len(tail)))
    # ∂(a, b, c) = (b, c) - (a, c) + (a, b)
    B2 = _incidence([edge[b, c], edge[a, c], base], [1, -1, 1], (len(tail), len(base)))
    return B1, B2


def _incidence(faces: list[np.ndarray], signs: list[int], shape: tuple[int, int]) -> csr_array:
    columns = np.tile(np.arange(shape[1]), len(faces))
    values = np.repeat(np.array(signs, dtype=np.float64), shape[1])
    return csr_array((values, (np.concatenate(faces), columns)), shape=shape)


def _landmarks(points: np.ndarray, count: int) -> np.ndarray:
    """Return points far from each other, starting far from the mean: (min(n, count), D).

    The points are sorted first, so that their order does not matter where distances tie.
    """
    points = points.take(np.lexsort(points.T), axis=0)
    if len(points) <= count:
        return points
    chosen = [int(np.square(points - points.mean(0)).sum(1).argmax())]
    squared = np.full(len(points), np.inf)
    while len(chosen) < count:
        squared = np.minimum(squared, np.square(points - points[chosen[-1]]).sum(1))
        chosen.append(int(squared.argmax()))
    return points.take(np.sort(chosen), axis=0)


def _numbers(points: Tensor) -> np.ndarray:
    array: np.ndarray = points.double().cpu().numpy()
    return array

"""Distances between clouds as distributions, and a kernel classifier on them.

Each distance is Euclidean between vectors that are computed cloud by cloud, so that N clouds need
N vectors instead of N² comparisons, and exp(−γ distance²) is a positive definite kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import pdist, squareform

from pointforms.estimators.units import Scale
from pointforms.models.classical import FeatureClassifier
from pointforms.models.point_features import PlainFrame, PointFeatures
from pointforms.support.options import Count, RandomState

Distance = Literal["sliced-wasserstein", "sliced-energy", "mmd"]

# Points whose median distance is the width of the kernel of MMD.
_WIDTH_POINTS = 500


@dataclass(kw_only=True, eq=False, repr=False)
class DistributionVectors(PointFeatures):
    """Vectors of clouds whose squared Euclidean distances are those of their distributions.

    With θ the random directions, and F_θ the distribution function of the points projected on θ:

    - sliced Wasserstein: mean over θ of ∫₀¹ (F_θ⁻¹(q) − G_θ⁻¹(q))² dq (Rabin and others, 2012).
      In one dimension it is the squared 2-Wasserstein distance itself;
    - sliced energy: mean over θ of 2 ∫ (F_θ(t) − G_θ(t))² dt, in one dimension the energy distance
      2 E|x − y| − E|x − x'| − E|y − y'| (Székely and Rizzo, 2013), up to the range of the training
      clouds;
    - MMD: that of a Gaussian kernel exp(−|x − y|² / 2 w²), with w the median distance of training
      points, by random Fourier features (Gretton and others, 2012).

    Parameters
    ----------
    distance : {"sliced-wasserstein", "sliced-energy", "mmd"}, default "sliced-wasserstein"
    directions : int, default 64
        Number of directions θ, orthogonal in blocks of D; for MMD, 16 times as many frequencies.
        On a line there is one direction.
    levels : int, default 32
        Number of levels q, or of thresholds t, per direction.
    scale : {"standard", "isotropic", "robust"} or None, default "standard"
        Units of the features, learned from the training clouds; None takes those of the data.
    frame : {"absolute", "cloud", "shape", "both"}, default "absolute"
        Where points are measured from.
    random_state : int, RandomState or None, default None
        Seed of the directions.

    Attributes
    ----------
    directions_ : (D, L) array
        Unit vectors, or the frequencies of MMD.
    units_ : Units
    n_features_in_ : int

    Examples
    --------
    >>> vectors = DistributionVectors(scale=None).fit_transform([[[0.0], [1.0]], [[2.0], [3.0]]])
    >>> round(float(((vectors[0] - vectors[1]) ** 2).sum()), 6)
    4.0
    """

    distance: Distance = "sliced-wasserstein"
    directions: Count = 64
    levels: Count = 32

    def _learn(
        self, points: np.ndarray, weights: np.ndarray | None, random: np.random.RandomState
    ) -> None:
        D = points.shape[1]
        if self.distance == "mmd":
            some = points[_drawn(len(points), weights, random)]
            width = np.median(pdist(some)) if len(some) > 1 else 0.0
            frequencies = random.normal(size=(D, 16 * self.directions))
            self.directions_ = frequencies / (width if width > 0 else 1.0)
            return
        self.directions_ = _directions(D, self.directions, random)
        if self.distance == "sliced-energy":
            projected = points @ self.directions_
            low, high = projected.min(0), projected.max(0)
            self.spacing_ = (high - low) / self.levels
            self.thresholds_ = low + self.spacing_ * (np.arange(self.levels)[:, None] + 0.5)

    @property
    def _n_features_out(self) -> int:
        return int(self.directions_.shape[1]) * (2 if self.distance == "mmd" else self.levels)

    def _features(self, cloud: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        projected = cloud @ self.directions_
        L = projected.shape[1]
        if self.distance == "mmd":
            waves = np.concatenate([np.cos(projected), np.sin(projected)], 1)
            mean: np.ndarray = np.average(waves, 0, weights) / np.sqrt(L)
            return mean
        if weights is not None:
            return self._weighted_features(projected, weights)
        projected.sort(0)
        if self.distance == "sliced-wasserstein":
            middle = (np.arange(self.levels) + 0.5) / self.levels
            places = np.minimum((middle * len(cloud)).astype(int), len(cloud) - 1)
            quantiles: np.ndarray = projected[places] / np.sqrt(L * self.levels)
            return quantiles.ravel()
        shares = [
            np.searchsorted(projected[:, j], self.thresholds_[:, j], side="right") for j in range(L)
        ]
        values: np.ndarray = np.stack(shares, 1) / len(cloud) * np.sqrt(2 * self.spacing_ / L)
        return values.ravel()

    def _weighted_features(self, projected: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return quantiles, or distribution functions, of projections (n, L) with weights."""
        n, L = projected.shape
        columns = []
        for j in range(L):
            order = np.argsort(projected[:, j], kind="stable")
            values, ends = projected[order, j], np.cumsum(weights[order])
            if self.distance == "sliced-wasserstein":
                middle = (np.arange(self.levels) + 0.5) / self.levels
                places = np.searchsorted(ends, middle * ends[-1], side="right")
                columns.append(values[np.minimum(places, n - 1)] / np.sqrt(L * self.levels))
            else:
                below = np.searchsorted(values, self.thresholds_[:, j], side="right")
                share = np.append(0.0, ends)[below] / ends[-1]
                columns.append(share * np.sqrt(2 * self.spacing_[j] / L))
        return np.stack(columns, 1).ravel()


def _drawn(n: int, weights: np.ndarray | None, random: np.random.RandomState) -> np.ndarray:
    """Return some of n points, drawn without replacement by their weights."""
    count = min(n, _WIDTH_POINTS)
    if weights is None:
        return random.permutation(n)[:count]
    return random.choice(n, count, replace=False, p=weights / weights.sum())


def _directions(D: int, count: int, random: np.random.RandomState) -> np.ndarray:
    """Return unit vectors (D, L) in orthonormal blocks: a multiple of D, at least `count`.

    The mean of ⟨θ, v⟩² over them is |v|² / D exactly. A line has a single direction.
    """
    if D == 1:
        return np.ones((1, 1))
    blocks = [np.linalg.qr(random.normal(size=(D, D)))[0] for _ in range(-(-count // D))]
    return np.concatenate(blocks, 1)


def distribution_distances(
    clouds: Any,
    distance: Distance = "sliced-wasserstein",
    directions: Count = 64,
    levels: Count = 32,
    scale: Scale | None = "standard",
    frame: PlainFrame = "absolute",
    random_state: RandomState = 0,
) -> np.ndarray:
    """Return the distances between clouds as distributions of points, without labels.

    Parameters
    ----------
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds.
    distance : {"sliced-wasserstein", "sliced-energy", "mmd"}, default "sliced-wasserstein"
        Which distance; see `pointforms.models.distances.DistributionVectors`.
    directions : int, default 64
        Number of random directions; for MMD, 16 times as many frequencies.
    levels : int, default 32
        Number of quantiles, or of thresholds, per direction.
    scale : {"standard", "isotropic", "robust"} or None, default "standard"
        Units of the features, learned from these clouds; None takes those of the data.
    frame : {"absolute", "cloud", "shape", "both"}, default "absolute"
        Where points are measured from.
    random_state : int, RandomState or None, default 0
        Seed of the directions.

    Returns
    -------
    ndarray, shape (N, N)

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = [[[0.0], [1.0]], [[2.0], [3.0]]]
    >>> float(pf.models.distribution_distances(clouds, scale=None)[0, 1].round(6))
    2.0
    """
    vectors = DistributionVectors(
        distance=distance,
        directions=directions,
        levels=levels,
        scale=scale,
        frame=frame,
        random_state=random_state,
    )
    return np.asarray(squareform(pdist(vectors.fit_transform(clouds))))


def distance_classifier(
    random_state: RandomState = None,
    distance: Distance = "sliced-wasserstein",
    directions: Count = 64,
    levels: Count = 32,
    scale: Scale | None = "standard",
    frame: PlainFrame = "absolute",
) -> FeatureClassifier:
    """Return an SVM with kernel exp(−γ distance²); γ and the penalty are chosen on inner folds.

    Parameters
    ----------
    random_state : int, RandomState or None, default None
        Seed of the directions and of the inner folds.
    distance, directions, levels, scale, frame
        Options of :class:`DistributionVectors`.
    """
    features = DistributionVectors(
        distance=distance,
        directions=directions,
        levels=levels,
        scale=scale,
        frame=frame,
        random_state=random_state,
    )
    return FeatureClassifier(features=features, head="kernel", random_state=random_state)

"""Composition: which share of the points of a cloud belongs to each cluster of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from pointforms.estimators.units import Scale
from pointforms.models.classical import FeatureClassifier
from pointforms.models.point_features import PlainFrame, PointFeatures
from pointforms.support.options import Count, Positive, RandomState, shown


@dataclass(kw_only=True, eq=False, repr=False)
class Composition(PointFeatures):
    """Centred log-ratios of the proportions of clusters in each cloud.

    Points belong to the nearest of K centres. With n_k points of a cloud in cluster k, or their
    share of the weight times the number of points, and a pseudo-count a, its features are

        log(n_k + a) − (1/K) Σ_j log(n_j + a),

    which sum to 0. It is what analyses of cell-type composition compare: the proportions alone,
    without the places of points within their cluster.

    Parameters
    ----------
    clusters : int, default 16
        K, the number of clusters of the training points, by k-means in the units of `scale`. There
        are never more than distinct points.
    centers : (K, D) array, optional
        Centres of given clusters, in the units of the data, instead of k-means. Needs
        frame="absolute".
    pseudo_count : float, default 0.5
        a, which keeps the logarithm of an empty cluster finite.
    scale : {"standard", "isotropic", "robust"} or None, default "standard"
        Units of the features, learned from the training clouds; None takes those of the data.
    frame : {"absolute", "cloud", "shape", "both"}, default "absolute"
        Where points are measured from.
    random_state : int, RandomState or None, default None
        Seed of k-means.

    Attributes
    ----------
    centers_ : (K, D) array
        The centres, in the units of `scale`.
    units_ : Units
    n_features_in_ : int

    Examples
    --------
    >>> clouds = [[[0.0], [0.1], [0.2], [9.0]], [[0.0], [9.0]]]
    >>> model = Composition(centers=[[0.0], [9.0]], pseudo_count=1)
    >>> model.fit_transform(clouds).round(3)
    array([[ 0.347, -0.347],
           [ 0.   ,  0.   ]])
    """

    clusters: Count = 16
    centers: Any = None
    pseudo_count: Positive = 0.5

    def check_options(self) -> None:
        """Raise an error if an option has a value that no fit can work with."""
        super().check_options()
        if self.centers is None:
            return
        try:
            centers = np.asarray(self.centers, dtype=np.float64)
        except (ValueError, TypeError):
            centers = np.array(np.nan)
        if centers.ndim != 2 or not centers.size or not np.isfinite(centers).all():
            raise ValueError(f"centers={shown(self.centers)}: expected finite numbers (K, D)")
        if self.frame != "absolute":
            raise ValueError(f"frame={self.frame!r}: expected 'absolute' where centers are given")

    def _learn(
        self, points: np.ndarray, weights: np.ndarray | None, random: np.random.RandomState
    ) -> None:
        if self.centers is not None:
            centers = np.asarray(self.centers, dtype=np.float64)
            if centers.shape[1] != points.shape[1]:
                raise ValueError(
                    f"centers have {centers.shape[1]} features, but the clouds {points.shape[1]}"
                )
            self.centers_ = (centers - self.units_.center.numpy()) / self.units_.unit.numpy()
            return
        count = min(self.clusters, len(np.unique(points, axis=0)))
        means = KMeans(count, n_init=3, random_state=random).fit(points, sample_weight=weights)
        self.centers_ = means.cluster_centers_

    @property
    def _n_features_out(self) -> int:
        return len(self.centers_)

    def _features(self, cloud: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        nearest = cdist(cloud, self.centers_).argmin(1)
        counts = np.bincount(nearest, weights, minlength=len(self.centers_))
        logs = np.log(counts + self.pseudo_count)
        ratios: np.ndarray = logs - logs.mean()
        return ratios


def composition_classifier(
    random_state: RandomState = None,
    clusters: Count = 16,
    pseudo_count: Positive = 0.5,
    scale: Scale | None = "standard",
    frame: PlainFrame = "absolute",
) -> FeatureClassifier:
    """Return logistic regression on the composition of clouds, its penalty chosen on inner folds.

    Parameters
    ----------
    random_state : int, RandomState or None, default None
        Seed of k-means and of the inner folds.
    clusters, pseudo_count, scale, frame
        Options of :class:`Composition`.
    """
    features = Composition(
        clusters=clusters,
        pseudo_count=pseudo_count,
        scale=scale,
        frame=frame,
        random_state=random_state,
    )
    return FeatureClassifier(features=features, head="logistic", random_state=random_state)

"""Landmarks: a few weighted points that stand for all points of a large cloud."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import NonNegativeInt
from sklearn.cluster import MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state
from torch import Tensor

from pointforms.clouds import Clouds
from pointforms.estimators.saved_values import Attribute
from pointforms.preprocessing.cloud_transformer import CloudTransformer
from pointforms.support.options import Count, RandomState
from pointforms.weights import weights_of

# Points per landmark, at most, among which landmarks are searched; all points are then assigned.
_CANDIDATES = 50
# Passes of k-means over them, points per step, and points per landmark from which it starts.
_PASSES, _STEP, _STARTS = 3, 4096, 3
# Points that are assigned to landmarks at once: 1 MB per feature in double precision.
_BLOCK = 1 << 17


@dataclass(eq=False, repr=False)
class Landmarks(CloudTransformer):
    """Replace each large cloud by weighted landmarks.

    The weight of a landmark is the number of points, or their total weight, that are nearer to it
    than to the others. Gram fields, measures, pooled summaries and point-forms count a landmark as
    so many points, so that the landmarks of a million points give nearly the results of the
    whole cloud. Clouds of at most `n` points stay as they are, with weights of 1 or their own.

    Distances are those of the features as they are: bring features to comparable units first.

    Parameters
    ----------
    n : int, default 2000
        Largest number of landmarks per cloud. Fewer are returned if fewer points differ.
    method : {"kmeans", "farthest"}, default "kmeans"
        "kmeans" takes centres of clusters, each the mean of its points, so that the mean of the
        cloud stays exactly what it is. "farthest" takes points of the cloud, one after the other
        the farthest from those before; regions with few points get more landmarks. In clouds of
        more than 50 `n` points, both search landmarks among 50 `n` random points, and then assign
        all points to them.
    random_state : int, RandomState or None, default 0
        Seed. The landmarks of a cloud do not depend on the other clouds. None draws a seed in
        `fit`.

    Attributes
    ----------
    seed_ : int
        The seed that was used.
    n_features_in_ : int
        D, the number of features of the clouds.
    feature_names_in_ : ndarray of str, shape (D,)
        Their names, if the clouds of `fit` had any.

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> clouds = [np.random.default_rng(0).normal(size=(n, 3)) for n in (1000, 40)]
    >>> landmarks = pf.preprocessing.Landmarks(n=50).fit_transform(clouds)
    >>> landmarks
    Clouds(2 clouds of 40-50 weighted points in R^3)
    >>> float(landmarks[0].weights.sum()), float(landmarks[1].weights.sum())
    (1000.0, 40.0)
    """

    n: Count = 2000
    method: Literal["kmeans", "farthest"] = "kmeans"
    random_state: RandomState = 0

    _learned: ClassVar[dict[str, Attribute]] = CloudTransformer._learned | {
        "seed_": Attribute(NonNegativeInt)
    }

    def _learn(self, clouds: Clouds) -> None:
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))

    def _points(self, clouds: Clouds) -> Tensor:
        return self._apply(clouds).points

    def _apply(self, clouds: Clouds) -> Clouds:
        reduced, weights = [], []
        for cloud in clouds:
            mass = weights_of(cloud)
            if len(cloud) > self.n:
                cloud, mass = self._landmarks(cloud, mass, np.random.RandomState(self.seed_))
            reduced.append(cloud)
            weights.append(mass)
        result = Clouds.from_list(reduced, clouds.ids, clouds.feature_names, weights)
        return replace(result, loadings=clouds.loadings)

    def _landmarks(
        self, cloud: Tensor, mass: Tensor | None, random: np.random.RandomState
    ) -> tuple[Tensor, Tensor]:
        """Return the landmarks (m, D) of one cloud, and their weights (m,)."""
        points: np.ndarray = cloud.detach().cpu().numpy()
        weights = np.ones(len(points)) if mass is None else mass.cpu().numpy()
        origin = points.mean(0, dtype=np.float64)
        rows: Any = slice(None)
        if len(points) > _CANDIDATES * self.n:
            rows = random.choice(len(points), _CANDIDATES * self.n, replace=False)
        candidates = points[rows] - origin.astype(points.dtype)
        if self.method == "kmeans":
            centers = _cluster_centers(candidates, weights[rows], self.n, random)
        else:
            centers = _farthest(candidates, self.n, random)
        nearest = _nearest(points, origin, centers)
        totals = np.bincount(nearest, weights, len(centers))
        if self.method == "kmeans":  # each centre is the mean of all of its points
            sums = [np.bincount(nearest, weights * column, len(centers)) for column in points.T]
            found = np.stack(sums, 1) / np.where(totals > 0, totals, 1)[:, None]
        else:
            found = centers + origin
        kept = totals > 0
        landmarks = torch.from_numpy(found[kept]).to(cloud.device, cloud.dtype)
        return landmarks, torch.from_numpy(totals[kept])


def _cluster_centers(
    points: np.ndarray, weights: np.ndarray, count: int, random: np.random.RandomState
) -> np.ndarray:
    """Return centres of clusters (count, D) by k-means on small batches."""
    means = MiniBatchKMeans(
        count,
        max_iter=_PASSES,
        batch_size=_STEP,
        init_size=_STARTS * count,
        n_init=1,
        compute_labels=False,
        random_state=random,
    )
    with warnings.catch_warnings():  # fewer points differ than landmarks are asked for
        warnings.simplefilter("ignore", ConvergenceWarning)
        means.fit(points, sample_weight=weights)
    return np.unique(means.cluster_centers_, axis=0)


def _farthest(points: np.ndarray, count: int, random: np.random.RandomState) -> np.ndarray:
    """Return points, one after the other the farthest from those before: (count, D) or fewer."""
    chosen = [int(random.randint(len(points)))]
    columns = np.ascontiguousarray(points.T)  # sums over features are then sums of whole arrays
    squared = np.full(len(points), np.inf, dtype=points.dtype)
    while len(chosen) < count:
        own = np.zeros_like(squared)
        for column in columns:
            difference = column - column[chosen[-1]]
            own += np.square(difference, out=difference)
        np.minimum(squared, own, out=squared)
        farthest = int(squared.argmax())
        if squared[farthest] == 0:  # all others are copies
            break
        chosen.append(farthest)
    found: np.ndarray = points[chosen]
    return found


def _nearest(points: np.ndarray, origin: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return the nearest centre of each point, in blocks of points: (n,)."""
    shift = origin.astype(points.dtype)
    blocks = [
        pairwise_distances_argmin(points[start : start + _BLOCK] - shift, centers)
        for start in range(0, len(points), _BLOCK)
    ]
    return np.concatenate(blocks)

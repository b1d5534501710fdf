"""A random part of the points of each cloud, the same whenever the cloud comes again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from pydantic import NonNegativeInt
from sklearn.utils import check_random_state
from torch import Tensor

from pointforms.clouds import Clouds
from pointforms.estimators.saved_values import Attribute
from pointforms.preprocessing.cloud_transformer import CloudTransformer
from pointforms.support.options import Count, RandomState


@dataclass(eq=False, repr=False)
class Subsample(CloudTransformer):
    """Keep a random sample of the points of each cloud, without replacement.

    Which points are kept depends on the seed and on the points of the cloud alone: a cloud has the
    same sample in training and in prediction, whatever other clouds are beside it and in whatever
    order its points are. Two clouds that differ in one value have independent samples.

    Parameters
    ----------
    points : int, default 1000
        Number of points to keep. Clouds with fewer are kept whole.
    random_state : int, RandomState or None, default 0
        Seed. None draws one in `fit`.

    Attributes
    ----------
    seed_ : int
        The seed that was used.
    n_features_in_ : int
        Number of features of the clouds, D.
    feature_names_in_ : ndarray of str, shape (D,)
        Their names, if the clouds of `fit` had names.

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> clouds = [np.arange(100.0)[:, None], np.arange(3.0)[:, None]]
    >>> sample = pf.preprocessing.Subsample(10).fit(clouds)
    >>> sample.transform(clouds).sizes.tolist()
    [10, 3]
    >>> bool((sample.transform(clouds[:1])[0] == sample.transform(clouds)[0]).all())
    True
    """

    points: Count = 1000
    random_state: RandomState = 0

    _learned: ClassVar[dict[str, Attribute]] = CloudTransformer._learned | {
        "seed_": Attribute(NonNegativeInt)
    }

    def _learn(self, clouds: Clouds) -> None:
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))

    def _kept(self, clouds: Clouds) -> list[np.ndarray]:
        """Return the rows that are kept, for each cloud."""
        starts = clouds.offsets.tolist()
        return [
            start + sampled_points(cloud.detach().double().cpu().numpy(), self.points, self.seed_)
            for start, cloud in zip(starts, clouds, strict=False)
        ]

    def _points(self, clouds: Clouds) -> Tensor:
        return self._apply(clouds).points

    def _apply(self, clouds: Clouds) -> Clouds:
        kept = self._kept(clouds)
        offsets = torch.tensor([0] + [len(rows) for rows in kept]).cumsum(0)
        rows = torch.from_numpy(np.concatenate(kept)).to(clouds.points.device)
        return replace(
            clouds,
            points=clouds.points[rows],
            offsets=offsets.to(clouds.offsets.device),
            weights=None if clouds.weights is None else clouds.weights[rows],
        )


def sampled_points(points: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return which points are in the sample of a cloud (n, D), in ascending order: (m,).

    The sample is drawn from the points in sorted order by a generator that their values seed, so
    that it does not depend on the order of the points.

    Examples
    --------
    >>> cloud = np.array([[3.0], [1.0], [2.0]])
    >>> chosen = sampled_points(cloud, 2, seed=0)
    >>> turned = sampled_points(cloud[::-1], 2, seed=0)
    >>> sorted(cloud[chosen].ravel()) == sorted(cloud[::-1][turned].ravel())
    True
    """
    if len(points) <= count:
        return np.arange(len(points))
    points = points + 0.0  # no negative zeros, which are equal to 0 and have other bytes
    order = np.argsort(points[:, 0], kind="stable")
    if (np.diff(points[order, 0]) == 0).any():
        order = np.lexsort(points.T[::-1])
    digest = hashlib.sha256(np.ascontiguousarray(points[order]).tobytes()).digest()
    random = np.random.default_rng([seed, int.from_bytes(digest[:16], "little")])
    return np.sort(order[random.choice(len(points), count, replace=False, shuffle=False)])

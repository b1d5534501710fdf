"""What features of clouds as distributions of points have in common: their units and frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pointforms.clouds import cloud_list, plain_clouds
from pointforms.estimators.units import Scale, Units
from pointforms.nn.frames import framed
from pointforms.support.cloud_estimator import TakesClouds
from pointforms.support.options import RandomState

#: Frames that need no batches.
PlainFrame = Literal["absolute", "cloud", "shape", "both"]

# Training points from which features are learned, at most: more change little and take long.
_MOST_POINTS = 20_000


@dataclass(kw_only=True, eq=False, repr=False)
class PointFeatures(
    TakesClouds,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    ABC,
):
    """Features of each cloud that are learned from the points of all training clouds.

    Parameters
    ----------
    scale : {"standard", "isotropic", "robust"} or None, default "standard"
        Units of the features, learned from the training clouds; None takes those of the data.
    frame : {"absolute", "cloud", "shape", "both"}, default "absolute"
        Where points are measured from: as they are, from the mean of their cloud, the same in
        units of the spread of the cloud, or the first two side by side.
    random_state : int, RandomState or None, default None
        Seed of what is drawn at random.

    Attributes
    ----------
    units_ : Units
    n_features_in_ : int
    """

    scale: Scale | None = "standard"
    frame: PlainFrame = "absolute"
    random_state: RandomState = None

    def fit(self, clouds: Any, y: Any = None) -> Self:
        """Learn units and features from the training clouds, without labels."""
        self.check_options()
        clouds = cloud_list(clouds)
        self._keep_names(clouds)
        points = plain_clouds(clouds)
        self.n_features_in_ = points[0].shape[1]
        self.units_ = Units.learn(points, self.scale)
        random = check_random_state(self.random_state)
        self._learn(_sample(self._read(points), random), random)
        return self

    def transform(self, clouds: Any) -> np.ndarray:
        """Return the features (N, f) of N clouds or of their Gram fields."""
        check_is_fitted(self, "units_")
        points = plain_clouds(self._by_name(cloud_list(clouds)))
        self._check_width(points[0].shape[1])
        return np.stack([self._features(cloud) for cloud in self._read(points)])

    def _read(self, points: Sequence[Any]) -> list[np.ndarray]:
        """Return the points of every cloud in the units and the frame."""
        scaled = self.units_.scaled([cloud.double().cpu() for cloud in points])
        return [cloud.numpy() for cloud in framed(scaled, self.frame)]

    @abstractmethod
    def _learn(self, points: np.ndarray, random: np.random.RandomState) -> None:
        """Learn from training points (m, D)."""

    @abstractmethod
    def _features(self, cloud: np.ndarray) -> np.ndarray:
        """Return the features (f,) of the points (n, D) of a cloud."""


def _sample(clouds: Sequence[np.ndarray], random: np.random.RandomState) -> np.ndarray:
    """Return the points of all clouds, or of each an equal share of those that are allowed."""
    if sum(map(len, clouds)) > _MOST_POINTS:
        share = max(1, _MOST_POINTS // len(clouds))
        clouds = [cloud[random.permutation(len(cloud))[:share]] for cloud in clouds]
    return np.concatenate(clouds)

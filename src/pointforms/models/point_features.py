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
from pointforms.support.weighted_statistics import pooled_weights
from pointforms.weights import keep_weights, relative_weights, weights_of

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
        sample, weights = _sample(self._read(points), _masses(points), random)
        self._learn(sample, weights, random)
        return self

    def transform(self, clouds: Any) -> np.ndarray:
        """Return the features (N, f) of N clouds or of their Gram fields."""
        check_is_fitted(self, "units_")
        points = plain_clouds(self._by_name(cloud_list(clouds)))
        self._check_width(points[0].shape[1])
        weights = [relative_weights(cloud) for cloud in points]
        return np.stack(
            [
                self._features(cloud, None if own is None else own.cpu().numpy())
                for cloud, own in zip(self._read(points), weights, strict=True)
            ]
        )

    def _read(self, points: Sequence[Any]) -> list[np.ndarray]:
        """Return the points of every cloud in the units and the frame."""
        double = [keep_weights(cloud.double().cpu(), cloud) for cloud in points]
        scaled = self.units_.scaled(double)
        return [np.asarray(cloud) for cloud in framed(scaled, self.frame)]

    @abstractmethod
    def _learn(
        self, points: np.ndarray, weights: np.ndarray | None, random: np.random.RandomState
    ) -> None:
        """Learn from training points (m, D), and their weights (m,) unless all are equal."""

    @abstractmethod
    def _features(self, cloud: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return the features (f,) of the points (n, D) of a cloud.

        Weights (n,) have mean 1; None if all are equal.
        """


def _masses(clouds: Sequence[Any]) -> list[np.ndarray] | None:
    """Return the weights of the points of each cloud; None if all are equal."""
    sizes = [len(cloud) for cloud in clouds]
    joined = pooled_weights([weights_of(cloud) for cloud in clouds], sizes)
    return None if joined is None else [own.numpy() for own in joined.split(sizes)]


def _sample(
    clouds: Sequence[np.ndarray],
    weights: Sequence[np.ndarray] | None,
    random: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the points of all clouds, or of each an equal share of those that are allowed."""
    if sum(map(len, clouds)) > _MOST_POINTS:
        share = max(1, _MOST_POINTS // len(clouds))
        rows = [random.permutation(len(cloud))[:share] for cloud in clouds]
        clouds = [cloud[own] for cloud, own in zip(clouds, rows, strict=True)]
        if weights is not None:
            weights = [mass[own] for mass, own in zip(weights, rows, strict=True)]
    return np.concatenate(clouds), None if weights is None else np.concatenate(weights)

"""Features and targets of clouds with the split into folds that all parts share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pointforms.estimators.per_cloud import checked_weights


@dataclass(frozen=True)
class FoldData:
    """Clouds as the parts are trained on them.

    Attributes
    ----------
    X : ndarray, shape (N, f)
        Features.
    y : ndarray, shape (N,) of int or (N, t)
        Codes of the classes, or numbers.
    folds : ndarray of int, shape (N,)
        Fold of each cloud, from 0 to K - 1.
    weights : ndarray, shape (N,), or None
        Weights with a mean of 1 over those above 0, or None where all are equal.
    """

    X: np.ndarray
    y: np.ndarray
    folds: np.ndarray
    weights: np.ndarray | None

    @classmethod
    def of(cls, X: Any, y: Any, folds: Any, weights: Any, classes: int | None) -> FoldData:
        """Check what a part was given.

        Parameters
        ----------
        X : array-like, shape (N, f)
            Features.
        y : array-like, shape (N,) of int or (N, t)
            Codes of the classes, from 0 to `classes` - 1, or numbers where `classes` is None.
        folds : array-like of int, shape (N,)
            Fold of each cloud, from 0 to K - 1, each of them occurring and K at least 2.
        weights : array-like, shape (N,), or None
            Weights of the clouds; only their ratios matter.
        classes : int or None
            Number of classes.
        """
        X = checked_features(X)
        data = cls(
            X, _targets(y, len(X), classes), _folds(folds, len(X)), checked_weights(weights, len(X))
        )
        for fold in range(data.count):
            if not len(data.training(fold)):
                raise ValueError(f"weights of all clouds outside of fold {fold} are 0")
        return data

    @property
    def count(self) -> int:
        """Number of folds, K."""
        return int(self.folds.max()) + 1

    def training(self, fold: int) -> np.ndarray:
        """Return the indices of the clouds that train the model of a fold: those of weight > 0."""
        outside = self.folds != fold
        return np.flatnonzero(outside if self.weights is None else outside & (self.weights > 0))

    def weights_of(self, index: np.ndarray) -> np.ndarray | None:
        """Return the weights of some clouds, or None where all are equal."""
        return None if self.weights is None else self.weights[index]


def checked_features(X: Any, width: int | None = None) -> np.ndarray:
    """Return features as an (N, f) array of finite numbers, with f = `width` unless it is None."""
    features: np.ndarray = np.asarray(X, dtype=np.float64)
    if features.ndim != 2 or not features.shape[1] or width not in (None, features.shape[1]):
        raise ValueError(f"X has shape {features.shape}: expected (N, {width or 'f'})")
    bad = ~np.isfinite(features).all(1)
    if bad.any():
        raise ValueError(f"features of cloud {int(bad.argmax())} are not finite")
    return features


def _targets(given: Any, count: int, classes: int | None) -> np.ndarray:
    y: np.ndarray = np.asarray(given)
    if classes is None:
        numbers: np.ndarray = y.astype(np.float64)
        if y.ndim != 2 or len(y) != count or not y.shape[1] or not np.isfinite(numbers).all():
            raise ValueError(f"y has shape {y.shape}: expected ({count}, t) finite numbers")
        return numbers
    if y.shape != (count,) or y.dtype.kind not in "iu":
        raise ValueError(f"y has shape {y.shape} and type {y.dtype}: expected {count} codes")
    if count and not 0 <= y.min() <= y.max() < classes:
        raise ValueError(
            f"y has codes from {y.min()} to {y.max()}: expected 0 to {classes - 1} for {classes} "
            "classes"
        )
    return y


def _folds(given: Any, count: int) -> np.ndarray:
    folds: np.ndarray = np.asarray(given)
    if folds.shape != (count,) or folds.dtype.kind not in "iu":
        raise ValueError(
            f"folds has shape {folds.shape} and type {folds.dtype}: expected {count} whole numbers"
        )
    names = np.unique(folds)
    if len(names) < 2 or not np.array_equal(names, np.arange(len(names))):
        raise ValueError(
            f"folds has the values {names.tolist()}: expected 0 to K - 1, K at least 2"
        )
    return folds

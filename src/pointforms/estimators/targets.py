"""What networks learn to predict: classes or numbers, checked, with their loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from pointforms.estimators.trainer import Fit


@dataclass(frozen=True, eq=False)
class ClassTargets:
    """Classes of N clouds.

    Attributes
    ----------
    classes : ndarray, shape (C,)
        The labels, sorted.
    values : ndarray of int, shape (N,)
        The class of each cloud, as an index into `classes`.
    class_weight : None, "balanced" or dict, default None
        Weights of the classes in the training loss.
    """

    stratify: ClassVar[bool] = True  # validation parts keep the proportions of the classes

    classes: np.ndarray
    values: np.ndarray
    class_weight: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.class_weight, dict):
            absent = set(self.class_weight) - set(self.classes.tolist())
            if absent:
                raise ValueError(
                    f"class_weight names {min(absent, key=str)!r}: expected one of the classes "
                    f"{self.classes.tolist()}"
                )
        elif self.class_weight not in (None, "balanced"):
            raise ValueError(
                f"class_weight={self.class_weight!r}: expected None, 'balanced' or a dictionary"
            )

    @classmethod
    def of(cls, y: Any, count: int, class_weight: Any = None) -> Self:
        """Check the labels of `count` clouds: one each, none missing, at least two classes."""
        classes, codes = np.unique(_checked_labels(y, count), return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y has 1 class, {classes[0]!r}: expected at least 2")
        return cls(classes, codes, class_weight)

    @property
    def outputs(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def tensor(self, dtype: torch.dtype) -> Tensor:
        """Return the codes; `dtype` does not matter for them."""
        return torch.from_numpy(self.values)

    def loss(self, out: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy of each cloud."""
        return functional.cross_entropy(out, y, reduction="none")

    def guess_loss(self, fit: Fit) -> float:
        """Return the validation loss of predicting the frequencies of the training labels."""
        counts = np.bincount(self.values[fit.train], fit.weights, len(self.classes))
        frequencies = np.maximum(counts / counts.sum(), np.finfo(np.float64).tiny)
        return float(-np.log(frequencies[self.values[fit.validation]]).mean())

    def weights(self, train: np.ndarray) -> np.ndarray | None:
        """Return the weight of each cloud of `train` in the training loss; None for equal ones."""
        if self.class_weight is None:
            return None
        codes = self.values[train]
        if self.class_weight == "balanced":
            counts = np.bincount(codes, minlength=len(self.classes))
            balanced: np.ndarray = len(codes) / (len(counts) * counts[codes])
            return balanced
        return np.array([self.class_weight.get(c, 1.0) for c in self.classes[codes].tolist()])


@dataclass(frozen=True, eq=False)
class NumberTargets:
    """Numbers of N clouds, standardised.

    Attributes
    ----------
    values : ndarray, shape (N, targets)
        With mean 0 and deviation 1 per target.
    mean, scale : list of float
        What standardisation subtracted and divided by, one per target.
    single : bool
        Whether y had one number per cloud rather than a row.
    """

    stratify: ClassVar[bool] = False

    values: np.ndarray
    mean: list[float]
    scale: list[float]
    single: bool

    @classmethod
    def of(cls, y: Any, count: int, class_weight: Any = None) -> Self:
        """Check and standardise the targets of `count` clouds: y (N,) or (N, targets)."""
        if class_weight is not None:
            raise ValueError(f"class_weight={class_weight!r}: a regressor has no classes")
        given = np.asarray(y, dtype=np.float64)
        if given.ndim not in (1, 2) or len(given) != count:
            raise ValueError(f"y has shape {given.shape} for {count} clouds")
        if not np.isfinite(given).all():
            raise ValueError("y has non-finite values: expected finite numbers")
        columns = given.reshape(len(given), -1)
        mean = columns.mean(0).tolist()
        scale = np.where(columns.std(0) > 0, columns.std(0), 1.0).tolist()
        return cls((columns - mean) / scale, mean, scale, given.ndim == 1)

    @property
    def outputs(self) -> int:
        """Number of targets."""
        return len(self.mean)

    def tensor(self, dtype: torch.dtype) -> Tensor:
        """Return the standardised numbers."""
        return torch.from_numpy(self.values).to(dtype)

    def loss(self, out: Tensor, y: Tensor) -> Tensor:
        """Return the mean square error of each cloud."""
        return (out - y).square().mean(-1)

    def guess_loss(self, fit: Fit) -> float:
        """Return the validation loss of predicting the mean of the training clouds."""
        mean = np.average(self.values[fit.train], axis=0, weights=fit.weights)
        return float(np.square(self.values[fit.validation] - mean).mean())

    def weights(self, train: np.ndarray) -> np.ndarray | None:
        """Return None: all clouds weigh equally."""
        return None


#: What a network can learn to predict.
Targets = ClassTargets | NumberTargets


def check_groups(groups: Any, count: int) -> None:
    """Raise an error unless `groups` is None or has one entry per cloud."""
    if groups is not None and len(groups) != count:
        raise ValueError(f"groups has {len(groups)} entries for {count} clouds")


def _checked_labels(y: Any, count: int) -> np.ndarray:
    """Return labels as an array, one per cloud, none missing."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}: expected ({count},)")
    if len(labels) != count:
        raise ValueError(f"y has {len(labels)} labels for {count} clouds")
    missing = (
        ~np.isfinite(labels)
        if labels.dtype.kind == "f"
        else np.array([v is None or v != v for v in labels.tolist()], dtype=bool)
    )
    if missing.any():
        raise ValueError(
            f"y has {int(missing.sum())} missing labels, the first at {missing.argmax()}"
        )
    if labels.dtype.kind == "f" and (labels != np.round(labels)).any():
        raise ValueError(
            "y has fractions: a classifier needs classes; PointFormRegressor takes numbers"
        )
    return labels

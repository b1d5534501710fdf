"""What networks learn to predict: classes or numbers, checked, with their loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from pointforms.estimators.fits import Fit
from pointforms.estimators.per_cloud import checked_weights, is_continuous, one_per_cloud
from pointforms.tensors import as_tensor


class _Counted:
    """Targets of clouds, some of which may have the weight 0."""

    values: np.ndarray
    sample_weight: np.ndarray | None

    def counted(self) -> np.ndarray:
        """Return the indices of the clouds whose weight is not 0."""
        weights = np.ones(len(self.values)) if self.sample_weight is None else self.sample_weight
        return np.flatnonzero(weights)

    def subset(self, index: np.ndarray) -> Self:
        """Return the targets of some of the clouds."""
        weights = None if self.sample_weight is None else self.sample_weight[index]
        some: Self = replace(self, values=self.values[index], sample_weight=weights)  # type: ignore[type-var]
        return some

    def _own_weights(self, train: np.ndarray) -> np.ndarray | None:
        """Return the sample weights of some clouds; None for equal ones."""
        weights = None if self.sample_weight is None else self.sample_weight[train]
        return None if weights is None or len(np.unique(weights)) < 2 else weights


@dataclass(frozen=True, eq=False)
class ClassTargets(_Counted):
    """Classes of N clouds.

    Attributes
    ----------
    classes : ndarray, shape (C,)
        The labels, sorted.
    values : ndarray of int, shape (N,)
        The class of each cloud, as an index into `classes`.
    class_weight : None, "balanced" or dict, default None
        Weights of the classes in the training loss.
    sample_weight : ndarray, shape (N,), or None, default None
        Weights of the clouds in the training loss; None weighs all equally.
    """

    stratify: ClassVar[bool] = True  # validation parts keep the proportions of the classes
    probabilities: ClassVar[bool] = True  # predictions are probabilities, outputs their logits
    learned: ClassVar[float] = 0.005  # training loss below which almost all clouds are learned

    classes: np.ndarray
    values: np.ndarray
    class_weight: Any = None
    sample_weight: np.ndarray | None = None

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
    def of(cls, y: Any, count: int, class_weight: Any = None, sample_weight: Any = None) -> Self:
        """Check the labels of `count` clouds: one each, none missing, at least two classes."""
        labels = one_per_cloud("y", y, count)
        if is_continuous(labels):
            raise ValueError(
                "y has fractions: a classifier needs classes, a regressor takes numbers"
            )
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y has 1 class, {classes.tolist()[0]!r}: expected at least 2")
        targets = cls(classes, codes, class_weight, checked_weights(sample_weight, count))
        left_out = classes[np.setdiff1d(codes, codes[targets.counted()])].tolist()
        if left_out:
            raise ValueError(
                f"sample_weight is 0 for all clouds of the class {left_out[0]!r}: "
                "expected a positive number for some, or clouds of other classes alone"
            )
        return targets

    @property
    def outputs(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def restored(self, predicted: np.ndarray) -> np.ndarray:
        """Return predicted probabilities (N, C) as they are."""
        return predicted

    def tensor(self, dtype: torch.dtype) -> Tensor:
        """Return the codes; `dtype` does not matter for them."""
        return torch.from_numpy(self.values)

    def loss(self, out: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy of each cloud."""
        return functional.cross_entropy(out, y, reduction="none")

    def guess(self, fit: Fit) -> np.ndarray:
        """Return the logits (C,) of the frequencies of the training labels."""
        counts = np.bincount(self.values[fit.train], fit.weights, len(self.classes))
        logits = np.log(np.maximum(counts, 0.5 * counts[counts > 0].min()))
        return np.asarray(logits - logits.mean())

    def guess_loss(self, fit: Fit) -> float:
        """Return the validation loss of predicting the frequencies of the training labels."""
        counts = np.bincount(self.values[fit.train], fit.weights, len(self.classes))
        frequencies = np.maximum(counts / counts.sum(), np.finfo(np.float64).tiny)
        return float(-np.log(frequencies[self.values[fit.validation]]).mean())

    def weights(self, train: np.ndarray) -> np.ndarray | None:
        """Return the weight of each cloud of `train` in the training loss; None for equal ones."""
        own = self._own_weights(train)
        if self.class_weight is None:
            return own
        codes = self.values[train]
        if self.class_weight == "balanced":
            counts = np.bincount(codes, minlength=len(self.classes))
            weights: np.ndarray = len(codes) / (len(counts) * counts[codes])
        else:
            labels = self.classes[codes].tolist()
            weights = np.array([self.class_weight.get(label, 1.0) for label in labels])
        return weights if own is None else weights * own


@dataclass(frozen=True, eq=False)
class NumberTargets(_Counted):
    """Numbers of N clouds, standardised.

    Attributes
    ----------
    values : ndarray, shape (N, targets)
        With mean 0 and deviation 1 per target.
    mean, scale : list of float
        What standardisation subtracted and divided by, one per target.
    single : bool
        Whether y had one number per cloud rather than a row.
    sample_weight : ndarray, shape (N,), or None, default None
        Weights of the clouds in the training loss; None weighs all equally.
    """

    stratify: ClassVar[bool] = False
    probabilities: ClassVar[bool] = False
    learned: ClassVar[float] = 0.0  # numbers can always be learned more closely

    values: np.ndarray
    mean: list[float]
    scale: list[float]
    single: bool
    sample_weight: np.ndarray | None = None

    @classmethod
    def of(cls, y: Any, count: int, class_weight: Any = None, sample_weight: Any = None) -> Self:
        """Check and standardise the targets of `count` clouds: y (N,) or (N, targets)."""
        if class_weight is not None:
            raise ValueError(f"class_weight={class_weight!r}: a regressor has no classes")
        given = as_tensor(y, "y").double().cpu().numpy()
        if given.ndim not in (1, 2) or len(given) != count or not given.size:
            raise ValueError(f"y has shape {given.shape} for {count} clouds")
        if not np.isfinite(given).all():
            raise ValueError("y has non-finite values: expected finite numbers")
        weights = checked_weights(sample_weight, count)
        columns = given.reshape(len(given), -1)
        counted = columns if weights is None else columns[weights > 0]
        with np.errstate(over="ignore", invalid="ignore"):
            mean, deviation = counted.mean(0), counted.std(0)
        if not np.isfinite(deviation).all():
            raise ValueError(f"y has values up to {abs(given).max():.3g}: their spread overflows")
        scale = np.where(deviation > 0, deviation, 1.0)
        values = (columns - mean) / scale
        return cls(values, mean.tolist(), scale.tolist(), given.ndim == 1, weights)

    @property
    def outputs(self) -> int:
        """Number of targets."""
        return len(self.mean)

    def restored(self, predicted: np.ndarray) -> np.ndarray:
        """Return predicted standardised numbers (N, targets) in the units and the shape of y."""
        numbers: np.ndarray = predicted * self.scale + self.mean
        return numbers[:, 0] if self.single else numbers

    def tensor(self, dtype: torch.dtype) -> Tensor:
        """Return the standardised numbers."""
        return torch.from_numpy(self.values).to(dtype)

    def loss(self, out: Tensor, y: Tensor) -> Tensor:
        """Return the mean square error of each cloud."""
        return (out - y).square().mean(-1)

    def guess(self, fit: Fit) -> np.ndarray:
        """Return the mean of the standardised numbers of the training clouds: (targets,)."""
        mean: np.ndarray = np.average(self.values[fit.train], axis=0, weights=fit.weights)
        return mean

    def guess_loss(self, fit: Fit) -> float:
        """Return the validation loss of predicting the mean of the training clouds."""
        return float(np.square(self.values[fit.validation] - self.guess(fit)).mean())

    def weights(self, train: np.ndarray) -> np.ndarray | None:
        """Return the weight of each cloud of `train` in the training loss; None for equal ones."""
        return self._own_weights(train)


#: What a network can learn to predict.
Targets = ClassTargets | NumberTargets


def targets_of(y: Any, count: int, class_weight: Any = None, sample_weight: Any = None) -> Targets:
    """Return targets of the kind that y suggests: numbers if some are fractions, or classes."""
    kind: type[Targets] = NumberTargets if is_continuous(y) else ClassTargets
    return kind.of(y, count, class_weight, sample_weight)

"""What models predict for clouds, and how wrong they are: log loss, or squared error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from pointforms.estimators.metrics import auroc
from pointforms.estimators.per_cloud import one_per_cloud
from pointforms.support.bootstrap import weighted_r2

# A certain but wrong prediction costs -log of this, 9.2, rather than infinity.
_SMALLEST_PROBABILITY = 1e-4


@dataclass(frozen=True, eq=False)
class CloudTargets:
    """Classes or numbers of N clouds, with the loss and the score of predictions.

    Attributes
    ----------
    given : ndarray, shape (N,) or (N, targets)
        As the estimator takes them.
    values : ndarray, shape (N,) of int or (N, targets)
        Codes of the classes, or numbers in units of their standard deviation.
    classes : ndarray or None
        The labels, sorted; None for numbers.
    unit : ndarray, shape (targets,)
        Standard deviations of numbers.
    """

    given: np.ndarray
    values: np.ndarray
    classes: np.ndarray | None
    unit: np.ndarray

    @classmethod
    def of(cls, estimator: Any, y: Any, count: int) -> CloudTargets:
        """Check the labels or numbers of `count` clouds for an estimator."""
        if hasattr(estimator, "predict_proba"):
            given = one_per_cloud("y", y, count)
            occurring = np.unique(given)
            classes = np.asarray(getattr(estimator, "classes_", occurring))
            unknown = sorted(set(occurring.tolist()) - set(classes.tolist()), key=str)
            if unknown:
                raise ValueError(
                    f"y has the class {unknown[0]!r}: the estimator knows {classes.tolist()}"
                )
            codes = np.array([classes.tolist().index(label) for label in given.tolist()])
            return cls(given, codes, classes, np.ones(1))
        if not hasattr(estimator, "predict"):
            raise TypeError(
                f"estimator is a {type(estimator).__name__}: expected one with predict_proba or "
                "predict"
            )
        if is_classifier(estimator):
            raise TypeError(
                f"this {type(estimator).__name__} is a classifier without predict_proba: expected "
                "one with probabilities, for example inside a CalibratedClassifierCV"
            )
        try:
            given = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"y has values like {np.asarray(y, dtype=object).flat[0]!r}: a regressor expects "
                "numbers"
            ) from None
        if given.ndim not in (1, 2) or len(given) != count:
            raise ValueError(f"y has shape {given.shape}: expected {count} numbers or rows")
        if not np.isfinite(given).all():
            raise ValueError("y has values that are NaN or infinite: expected finite numbers")
        columns = given.reshape(count, -1)
        unit = columns.std(0)
        if not (unit > 0).all():
            raise ValueError("y is the same for all clouds: expected numbers that differ")
        return cls(given, columns / unit, None, unit)

    @property
    def stratify(self) -> bool:
        """Whether folds keep the proportions of classes."""
        return self.classes is not None

    @property
    def for_folds(self) -> np.ndarray:
        """What folds are stratified by."""
        return self.values if self.classes is not None else self.values[:, 0]

    @property
    def score_name(self) -> str:
        """Name of the score: "auroc" or "r2"."""
        return "r2" if self.classes is None else "auroc"

    def predicted(self, estimator: Any, clouds: Sequence[Any], options: dict[str, Any]) -> Any:
        """Return what an estimator predicts: probabilities (n, C) in our order, or numbers."""
        if self.classes is None:
            return np.asarray(estimator.predict(clouds, **options), dtype=np.float64)
        found = np.asarray(estimator.predict_proba(clouds, **options), dtype=np.float64)
        own = np.asarray(getattr(estimator, "classes_", self.classes)).tolist()
        if own == self.classes.tolist():
            return found
        result = np.zeros((len(found), len(self.classes)))
        for column, label in enumerate(own):
            result[:, self.classes.tolist().index(label)] = found[:, column]
        return result

    def losses(self, predicted: np.ndarray, of: np.ndarray) -> np.ndarray:
        """Return the loss of predictions for versions of clouds: (n,).

        -log p of the true class; or the mean over targets of the squared error, in units of the
        variance of the target.
        """
        if self.classes is not None:
            p = predicted[np.arange(len(of)), self.values[of]]
            return np.asarray(-np.log(np.maximum(p, _SMALLEST_PROBABILITY)))
        numbers = self._in_units(predicted)
        return np.asarray(((numbers - self.values[of]) ** 2).mean(1))

    def score(self, predicted: np.ndarray, of: np.ndarray) -> float:
        """Return AUROC, or the mean R² over the targets."""
        if self.classes is not None:
            p = np.maximum(predicted, 0)
            return auroc(self.values[of], p / p.sum(1, keepdims=True))
        numbers = self._in_units(predicted)
        return float(weighted_r2(self.values[of], numbers, np.ones((1, len(of))))[0])

    def _in_units(self, predicted: np.ndarray) -> np.ndarray:
        """Return predicted numbers in units of the standard deviations of the targets: (n, t)."""
        numbers = predicted.reshape(len(predicted), -1)
        expected, given = numbers.shape[1], len(self.unit)
        if given != expected:
            raise ValueError(
                f"y has {given} {_numbers(given)} per cloud, and the estimator predicts "
                f"{expected}: expected the targets of fit"
            )
        return np.asarray(numbers / self.unit)


def _numbers(count: int) -> str:
    return "number" if count == 1 else "numbers"

"""What a portfolio keeps to predict training clouds by the models that have not seen them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np

from pointforms.estimators.targets import ClassTargets, Targets
from pointforms.models.portfolio.array_checks import Expected, check_range, checked_arrays
from pointforms.models.portfolio.common_prior import prior_ratios
from pointforms.models.portfolio.pooling import Pool, fold_pools

_ARRAYS = {
    "folds": Expected("int64", ("clouds",)),
    "weights": Expected("float64", ("K", "parts")),
    "ratios": Expected("float64", ("K", "outputs")),
}
_LARGEST = 1e6


@dataclass(frozen=True, eq=False)
class FoldModels:
    """The fold of each training cloud, and how the parts are pooled for it.

    Attributes
    ----------
    folds : ndarray of int, shape (N,)
        The fold of each cloud of `fit`; -1 for a cloud of weight 0.
    weights : ndarray, shape (K, parts + 1)
        Weights of the parts for each fold, as in
        :class:`~pointforms.models.portfolio.pooling.Pool`. They were learned on predictions for the
        other folds, by models that were trained on this fold.
    ratios : ndarray, shape (K, outputs)
        What the probabilities of the parts are multiplied by in each fold, so that all folds have
        the same class frequencies; 1 for numbers.
    """

    folds: np.ndarray
    weights: np.ndarray
    ratios: np.ndarray

    @classmethod
    def of(
        cls,
        predicted: np.ndarray,
        targets: Targets,
        folds: np.ndarray,
        kept: np.ndarray,
        count: int,
    ) -> Self:
        """Return what was learned from the out-of-fold predictions of the parts.

        Parameters
        ----------
        predicted : ndarray, shape (parts, n, K)
            Out-of-fold predictions of the clouds that were trained on.
        targets : Targets
            What was to be predicted for them.
        folds : ndarray of int, shape (n,)
            Their folds.
        kept : ndarray of int, shape (n,)
            Their positions among the clouds of `fit`.
        count : int
            Number of clouds of `fit`, N.
        """
        placed = np.full(count, -1, dtype=np.int64)
        placed[kept] = folds
        weights = np.stack([pool.weights for pool in fold_pools(predicted, targets, folds)])
        ratios = np.ones((len(weights), targets.outputs))
        if isinstance(targets, ClassTargets):
            ratios = prior_ratios(targets, folds)
        return cls(placed, weights, ratios)

    def pooled(self, predicted: np.ndarray, fold: int, pool: Pool) -> np.ndarray:
        """Return the pooled predictions (n, K) of the parts (parts, n, K) for clouds of a fold.

        `pool` is the one of all clouds, with the constant that all folds share.
        """
        if pool.probabilities:
            predicted = predicted * self.ratios[fold]
            predicted = predicted / predicted.sum(-1, keepdims=True)
        return Pool(self.weights[fold], pool.constant, pool.probabilities).predict(predicted)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name."""
        return asdict(self)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], parts: int, outputs: int) -> Self:
        """Return what :meth:`arrays` described; a ValueError says what is wrong with it."""
        checked, sizes = checked_arrays(arrays, _ARRAYS, {"parts": parts + 1, "outputs": outputs})
        check_range("folds", checked["folds"], -1, sizes["K"] - 1)
        check_range("weights", checked["weights"][:, :-1], 0, _LARGEST)
        check_range("weights", checked["weights"], -_LARGEST, _LARGEST)
        check_range("ratios", checked["ratios"], 1 / _LARGEST, _LARGEST)
        return cls(**checked)

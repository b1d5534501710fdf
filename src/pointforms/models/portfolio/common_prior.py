"""Out-of-fold probabilities as if all folds had left the same class frequencies."""

from __future__ import annotations

import numpy as np

from pointforms.estimators.targets import ClassTargets, Targets


def with_common_prior(predicted: np.ndarray, targets: Targets, folds: np.ndarray) -> np.ndarray:
    """Return out-of-fold probabilities as if every fold had left the same class frequencies.

    The more clouds of a class a fold holds out, the fewer its model was trained on. Without this,
    held-out clouds of a rare class would be predicted with a little less of it than others, and a
    model that has learned nothing would be worse than chance.

    Predictions of a model that has learned nothing but the frequencies of its training clouds
    become the same for all clouds: the frequencies of all of them.

    Parameters
    ----------
    predicted : ndarray, shape (N, K)
        Out-of-fold predictions: probabilities, or numbers, which are returned as they are.
    targets : ClassTargets or NumberTargets
        What was to be predicted. Weights of classes must have become weights of clouds.
    folds : ndarray of int, shape (N,)
        The fold of each cloud.

    Examples
    --------
    >>> targets = ClassTargets.of(["a", "a", "a", "b", "b", "b"], 6)
    >>> folds = np.array([0, 0, 1, 0, 1, 1])  # without fold 0 there is one a, without fold 1 two
    >>> predicted = np.where(folds[:, None] == 0, [1 / 3, 2 / 3], [2 / 3, 1 / 3])
    >>> with_common_prior(predicted, targets, folds)[[0, 2]]
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    if not isinstance(targets, ClassTargets):
        return predicted
    ratios = prior_ratios(targets, folds)
    result: np.ndarray = predicted * ratios[np.searchsorted(np.unique(folds), folds)]
    result /= result.sum(1, keepdims=True)
    return result


def prior_ratios(targets: ClassTargets, folds: np.ndarray) -> np.ndarray:
    """Return class frequencies of all clouds, in units of those outside of each fold: (K, C)."""
    everywhere = class_frequencies(targets)
    return np.stack(
        [everywhere / class_frequencies(targets, folds != fold) for fold in np.unique(folds)]
    )


def class_frequencies(targets: ClassTargets, some: np.ndarray | None = None) -> np.ndarray:
    """Return the weighted frequency (C,) of each class among all clouds, or some of them."""
    index = np.arange(len(targets.values)) if some is None else np.flatnonzero(some)
    weights = None if targets.sample_weight is None else targets.sample_weight[index]
    counts = np.bincount(targets.values[index], weights, targets.outputs)
    return np.asarray(counts / counts.sum())

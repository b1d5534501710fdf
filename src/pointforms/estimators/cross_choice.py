"""Choose an option for each fold by what it is worth on the other folds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class CrossChoice(NamedTuple):
    """Options, as rows of the losses.

    Attributes
    ----------
    overall : int
        The option of the smallest mean loss over all clouds.
    by_fold : ndarray of int, shape (K,)
        For each fold the option of the smallest mean loss over the clouds of the other folds.
    """

    overall: int
    by_fold: np.ndarray


def cross_fitted_choice(
    losses: np.ndarray, folds: np.ndarray, weights: np.ndarray | None = None
) -> CrossChoice:
    """Choose options by out-of-fold losses, such that no cloud takes part in its own choice.

    Parameters
    ----------
    losses : ndarray, shape (options, N)
        The loss of each cloud under each option, by a model that was not trained on the cloud.
    folds : ndarray of int, shape (N,)
        The fold of each cloud, 0 to K - 1.
    weights : ndarray, shape (N,), or None, default None
        Weights of the clouds; None weighs all equally.

    Returns
    -------
    CrossChoice

    Examples
    --------
    >>> losses = np.array([[0.0, 0.1, 0.9, 0.8], [0.5, 0.5, 0.5, 0.5]])
    >>> cross_fitted_choice(losses, np.array([0, 0, 1, 1]))
    CrossChoice(overall=0, by_fold=array([1, 0]))
    """
    weights = np.ones(losses.shape[1]) if weights is None else weights
    weighted = np.where(np.isfinite(losses), losses, np.inf) * np.where(weights > 0, weights, 1)
    weighted[:, weights == 0] = 0
    overall = int(np.argmin(weighted.sum(1)))
    by_fold = [weighted[:, folds != fold].sum(1) for fold in range(int(folds.max()) + 1)]
    if len(by_fold) == 1:
        return CrossChoice(overall, np.array([overall]))
    return CrossChoice(overall, np.array([int(np.argmin(one)) for one in by_fold]))

"""A choice among options by out-of-fold losses that leaves the losses of each fold honest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CrossChoice:
    """The chosen option, and the one that the other folds choose for each fold.

    Attributes
    ----------
    overall : int
        The option with the smallest mean loss over all clouds.
    by_fold : ndarray of int, shape (K,)
        For each fold, the option with the smallest mean loss over the clouds of the other folds.
    """

    overall: int
    by_fold: np.ndarray


def cross_fitted_choice(
    losses: np.ndarray, folds: np.ndarray, weights: np.ndarray | None = None
) -> CrossChoice:
    """Choose the option with the smallest mean loss, and one per fold without looking at it.

    The smallest of several out-of-fold losses is too small an estimate of the loss on new clouds,
    since chance helped to choose it. The losses of a fold under the option that the other folds
    choose had no part in that choice. What remains is weaker: the models of the other folds were
    trained on the fold.

    Among equal options the first is chosen. An option with a loss that is not finite, for any
    cloud, is never chosen.

    Parameters
    ----------
    losses : ndarray, shape (options, N)
        Loss of every cloud under every option, by a model that was not trained on its fold.
    folds : ndarray of int, shape (N,)
        Fold of each cloud, from 0 to K - 1.
    weights : ndarray, shape (N,), or None, default None
        Weights of the clouds in the means; None weighs all alike.

    Returns
    -------
    CrossChoice
        With a single fold, or where the other folds have no weight, the choice for a fold is the
        overall one.

    Examples
    --------
    >>> losses = np.array([[0.1, 0.1, 0.9, 0.9], [0.4, 0.4, 0.5, 0.5]])
    >>> choice = cross_fitted_choice(losses, np.array([0, 0, 1, 1]))
    >>> choice.overall, choice.by_fold
    (1, array([1, 0]))
    """
    losses, folds = np.asarray(losses, dtype=np.float64), np.asarray(folds)
    if losses.ndim != 2 or 0 in losses.shape:
        raise ValueError(f"losses has shape {losses.shape}: expected (options, N), none of them 0")
    count = losses.shape[1]
    if folds.shape != (count,) or folds.dtype.kind not in "iu" or folds.min() < 0:
        raise ValueError(
            f"folds has shape {folds.shape} and type {folds.dtype}: expected {count} whole numbers "
            "of at least 0"
        )
    weights = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    if weights.shape != (count,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(
            f"weights has shape {weights.shape}: expected {count} finite numbers of at least 0"
        )
    usable = np.isfinite(losses).all(1)
    if not usable.any():
        raise ValueError(f"none of {len(losses)} options has a finite loss for every cloud")
    weighted = np.where(usable[:, None], losses, 0.0) * weights

    def best(clouds: np.ndarray) -> int:
        return int(np.where(usable, weighted[:, clouds].sum(1), np.inf).argmin())

    overall = best(np.full(count, True))
    others = [folds != fold for fold in range(int(folds.max()) + 1)]
    chosen = [best(clouds) if weights[clouds].any() else overall for clouds in others]
    return CrossChoice(overall, np.array(chosen))

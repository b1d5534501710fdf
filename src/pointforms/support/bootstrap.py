"""The bootstrap over groups, as weights, and scores that take such weights."""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy.special import ndtr

from pointforms.support.statistics import student_quantile

# A variance below this share of the mean square is one of equal numbers.
_ROUNDING = 1e-12


def group_weights(groups: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Return how often each cloud occurs when whole groups are drawn with replacement.

    Parameters
    ----------
    groups : ndarray, shape (N,)
        The group of each cloud.
    resamples : int
        Number of resamples, B.
    seed : int
        Seed of the draws.

    Returns
    -------
    ndarray, shape (B, N)

    Examples
    --------
    >>> weights = group_weights(np.array(["a", "a", "b"]), 4, seed=0)
    >>> bool((weights[:, 0] == weights[:, 1]).all()), (weights[:, 1:].sum(1)).tolist()
    (True, [2.0, 2.0, 2.0, 2.0])
    """
    names, members = np.unique(groups, return_inverse=True)
    count = len(names)
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), resamples)
    return drawn[:, members].astype(np.float64)


def interval(values: np.ndarray, groups: int) -> tuple[float, float]:
    """Return the 95 % interval of resampled values, widened for a small number of groups.

    Resamples of G groups vary less than new samples would. The tails that are cut off are therefore
    those of Student's distribution, Φ(-√(G / (G - 1)) t): 0.9 % each for ten groups, 2.5 % for many
    (T. Hesterberg, The American Statistician 69, 371-386, 2015, "expanded percentile interval").

    Parameters
    ----------
    values : ndarray, shape (B,)
        A statistic of each resample; NaN is left out.
    groups : int
        Number of groups, G, at least two.

    Examples
    --------
    >>> values = np.linspace(0, 1, 10001)
    >>> [round(end, 3) for groups in (10, 10**6) for end in interval(values, groups)]
    [0.009, 0.991, 0.025, 0.975]
    """
    tail = float(ndtr(-sqrt(groups / (groups - 1)) * student_quantile(groups - 1)))
    low, high = np.nanquantile(values, (tail, 1 - tail))
    return float(low), float(high)


def weighted_auroc(codes: np.ndarray, probabilities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the AUROC of predictions under each of several sets of weights: (B,).

    Parameters
    ----------
    codes : ndarray of int, shape (N,)
        True classes.
    probabilities : ndarray, shape (N, C)
        With two classes the area is that of class 1, with more the mean over the areas of each
        class against the rest, of those that have weight on both sides.
    weights : ndarray, shape (B, N)
        How often each cloud counts.
    """
    C = probabilities.shape[1]
    areas = [_area(codes == c, probabilities[:, c], weights) for c in (range(C) if C > 2 else (1,))]
    with np.errstate(invalid="ignore"):
        found = np.array(areas)
        known = np.isfinite(found)
        total: np.ndarray = np.where(known, found, 0).sum(0) / known.sum(0)
    return total


def _area(positive: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the share of pairs (positive, negative) in the right order, ties counting half."""
    _, rank = np.unique(scores, return_inverse=True)
    levels = int(rank.max()) + 1
    order = np.argsort(rank, kind="stable")
    starts = np.searchsorted(rank[order], np.arange(levels))
    up = np.add.reduceat((weights * positive)[:, order], starts, axis=1)
    down = np.add.reduceat((weights * ~positive)[:, order], starts, axis=1)
    below = np.cumsum(down, axis=1) - down
    with np.errstate(invalid="ignore", divide="ignore"):
        area: np.ndarray = (up * (below + down / 2)).sum(1) / (up.sum(1) * down.sum(1))
    return area


def weighted_r2(y: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the mean R² over the targets (N, t) under each of several sets of weights: (B,).

    R² of a target that does not vary is 1 if its predictions are exact, and 0 otherwise, as in
    scikit-learn.
    """
    share = weights / weights.sum(1, keepdims=True)
    centred = y - y.mean(0)  # against rounding
    mean, square = share @ centred, share @ centred**2
    spread, error = square - mean**2, share @ (y - predicted) ** 2
    varies = spread > _ROUNDING * square
    each = np.where(varies, 1 - error / np.where(varies, spread, 1.0), error == 0)
    result: np.ndarray = each.mean(1)
    return result

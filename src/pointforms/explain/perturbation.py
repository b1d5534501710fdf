"""Clouds in which one feature, or a set of features, no longer says what it said."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def with_quantiles_of(
    cloud: np.ndarray,
    donor: np.ndarray,
    features: Sequence[int],
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
    donor_weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return a cloud whose features have the distribution of another cloud, rank by rank.

    The k-th smallest value of a feature becomes the k-th smallest of the donor. Where sizes
    differ, it becomes the quantile at (k + 1/2) / n, interpolated; where points have weights, at
    the share of the weight below it and half its own. Ranks stay, so every dependence between
    features that is one of ranks stays too. Equal values are ranked at random.

    Parameters
    ----------
    cloud : ndarray, shape (n, D)
        The cloud.
    donor : ndarray, shape (m, D)
        The cloud whose values are taken.
    features : sequence of int
        The features to replace.
    rng : Generator
        Ranks equal values.
    weights : ndarray, shape (n,), or None, default None
        Weights of the points of the cloud; None weighs them equally.
    donor_weights : ndarray, shape (m,), or None, default None
        Weights of those of the donor.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> cloud, donor = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([[10.0, 0.0], [20.0, 0.0]])
    >>> with_quantiles_of(cloud, donor, [0], rng)
    array([[20.,  1.],
           [10.,  2.]])
    """
    result = cloud.copy()
    n, m = len(cloud), len(donor)
    as_is = n == m and weights is None and donor_weights is None
    for j in features:
        order = np.argsort(donor[:, j], kind="stable")
        values = donor[order, j]
        ranked = np.lexsort((rng.random(n), cloud[:, j]))
        if not as_is:
            known = _middles(m, donor_weights, order)
            values = np.interp(_middles(n, weights, ranked), known, values)
        result[ranked, j] = values
    return result


def shuffled(
    cloud: np.ndarray,
    features: Sequence[int],
    order: np.ndarray,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return a cloud whose features are taken from its points in another order, all the same.

    The distribution of every feature stays, and so does the dependence between these features.
    Their dependence on the other features goes.

    Where points have weights, a point takes its values from the one that holds, in the other order,
    the same place on the scale of cumulative weight: heavy points give to many, so that over random
    orders the weighted distribution stays.

    Examples
    --------
    >>> shuffled(np.array([[3.0, 1.0], [1.0, 2.0]]), [0], np.array([1, 0]))
    array([[1., 1.],
           [3., 2.]])
    """
    result = cloud.copy()
    columns = np.array(features)
    source = order
    if weights is not None:
        ends = np.cumsum(weights[order])
        places = _middles(len(cloud), weights, np.arange(len(cloud))) * ends[-1]
        source = order[np.minimum(np.searchsorted(ends, places), len(cloud) - 1)]
    result[:, columns] = cloud[source][:, columns]
    return result


def _middles(count: int, weights: np.ndarray | None, order: np.ndarray) -> np.ndarray:
    """Return where the middle of each point lies on the scale of cumulative weight, from 0 to 1."""
    if weights is None:
        return (np.arange(count) + 0.5) / count
    ordered = weights[order]
    middles: np.ndarray = (np.cumsum(ordered) - ordered / 2) / ordered.sum()
    return middles

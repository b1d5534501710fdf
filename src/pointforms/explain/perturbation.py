"""Clouds in which one feature, or a set of features, no longer says what it said."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def with_quantiles_of(
    cloud: np.ndarray, donor: np.ndarray, features: Sequence[int], rng: np.random.Generator
) -> np.ndarray:
    """Return a cloud whose features have the distribution of another cloud, rank by rank.

    The k-th smallest value of a feature becomes the k-th smallest of the donor. Where sizes
    differ, it becomes the quantile at (k + 1/2) / n, interpolated. Ranks stay, so every
    dependence between features that is one of ranks stays too. Equal values are ranked at random.

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
    for j in features:
        values = np.sort(donor[:, j])
        if n != m:
            values = np.interp((np.arange(n) + 0.5) / n, (np.arange(m) + 0.5) / m, values)
        result[np.lexsort((rng.random(n), cloud[:, j])), j] = values
    return result


def shuffled(cloud: np.ndarray, features: Sequence[int], order: np.ndarray) -> np.ndarray:
    """Return a cloud whose features are taken from its points in another order, all the same.

    The distribution of every feature stays, and so does the dependence between these features.
    Their dependence on the other features goes.

    Examples
    --------
    >>> shuffled(np.array([[3.0, 1.0], [1.0, 2.0]]), [0], np.array([1, 0]))
    array([[1., 1.],
           [3., 2.]])
    """
    result = cloud.copy()
    columns = np.array(features)
    result[:, columns] = cloud[order][:, columns]
    return result

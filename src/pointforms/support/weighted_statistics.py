"""Means, deviations and quantiles of points with weights.

Without weights, they are computed as NumPy and torch do it, to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def weighted_mean(points: Tensor, weights: Tensor | None) -> Tensor:
    """Return the mean over the rows of points (n, ...); weights (n,) or None.

    Examples
    --------
    >>> weighted_mean(torch.tensor([[0.0], [4.0]]), torch.tensor([3.0, 1.0]))
    tensor([1.])
    """
    if weights is None:
        return points.mean(0)
    shares = (weights / weights.sum()).to(points)
    mean: Tensor = torch.tensordot(shares, points, 1)
    return mean


def weighted_deviation(points: Tensor, weights: Tensor | None) -> Tensor:
    """Return the standard deviation over the rows of points (n, D), of the population."""
    if weights is None:
        return points.std(0, correction=0)
    return weighted_mean((points - weighted_mean(points, weights)).square(), weights).sqrt()


def weighted_quantiles(
    values: np.ndarray, levels: Sequence[float], weights: np.ndarray | None
) -> np.ndarray:
    """Return quantiles of each column of values (n, D): (levels, D).

    In ascending order, with cumulative weights C_j, the j-th value is the quantile at
    (m_j - m_1) / (m_n - m_1), with the middles m_j = C_j - w_j / 2, and values between are
    interpolated. With equal weights these are the levels (j - 1) / (n - 1) of
    :func:`numpy.quantile`. Only ratios of weights matter.

    Examples
    --------
    >>> values = np.array([[0.0], [1.0], [2.0]])
    >>> weighted_quantiles(values, [0.5], np.array([1.0, 1.0, 1.0]))
    array([[1.]])
    >>> weighted_quantiles(values, [0.5], np.array([4.0, 2.0, 2.0]))
    array([[0.83333333]])
    """
    if weights is None:
        unweighted: np.ndarray = np.quantile(values, list(levels), axis=0)
        return unweighted
    columns = []
    for column in values.T:
        order = np.argsort(column, kind="stable")
        w = weights[order] / weights.max()
        middles = np.cumsum(w) - w / 2
        span = middles[-1] - middles[0]
        places = middles[0] + np.asarray(levels) * span
        columns.append(np.interp(places, middles, column[order]))
    quantiles: np.ndarray = np.stack(columns, 1)
    return quantiles


def pooled_weights(weights: Sequence[Tensor | None], sizes: Sequence[int]) -> Tensor | None:
    """Return the weights of the points of all clouds in one tensor; None if all are equal.

    Points of a cloud without weights have weight 1.
    """
    if all(own is None for own in weights):
        return None
    parts = [
        torch.ones(size, dtype=torch.float64) if own is None else own.double().cpu()
        for own, size in zip(weights, sizes, strict=True)
    ]
    joined = torch.cat(parts)
    return None if bool((joined == joined[0]).all()) else joined

"""The mean increase of the loss per cloud, with its interval over groups."""

from __future__ import annotations

from math import nan

import numpy as np

from pointforms.explain.exchange_test import Versions
from pointforms.support.statistics import student_quantile


def mean_increase(versions: Versions, clouds: np.ndarray) -> tuple[float, float]:
    """Return the mean increase of the loss per cloud, and half the width of its 95 % interval.

    Only groups with perturbed versions count. Groups that take values from each other do so from
    random ones of their block, *themselves included*: the mean over the k - 1 others is multiplied
    by (k - 1) / k. In a small block with few groups per class, the others are mostly of another
    class than the group itself, and their mean alone would be up to twice too large.

    Parameters
    ----------
    versions : Versions
        Losses of groups, or of the cells of groups.
    clouds : ndarray of int, shape (G,)
        The number of clouds in each column of the losses.

    Returns
    -------
    mean : float
        NaN if no group has perturbed versions.
    half : float
        NaN if fewer than two groups have perturbed versions.

    Examples
    --------
    Two groups that swap their values, and one that has nobody to take values from:

    >>> losses = np.array([[1.0, 1.0, 1.0], [3.0, 5.0, np.nan]])
    >>> blocks = [np.array([0, 1]), np.array([2])]
    >>> mean_increase(Versions(losses, blocks), np.array([1, 1, 1]))[0]
    1.5
    """
    measured = versions.perturbed()
    if not measured.any():
        return nan, nan
    increases = versions.increases() * versions.shares()
    units = versions.units_or_columns()[measured]
    sums = np.bincount(units, increases[measured])[np.unique(units)]
    groups, count = len(sums), float(clouds[measured].sum())
    mean = float(sums.sum() / count)
    if groups < 2:
        return mean, nan
    spread = (sums * groups / count).std(ddof=1)
    return mean, float(student_quantile(groups - 1) * spread / np.sqrt(groups))

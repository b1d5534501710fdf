"""The one interval and the one significance rule that every table, figure and sentence uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite, nan, sqrt
from typing import NamedTuple

import numpy as np

#: A p-value below this level is called significant.
SIGNIFICANCE_LEVEL = 0.05
#: Coverage of every interval.
CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A mean and half the width of its 95 % interval.

    Attributes
    ----------
    mean : float
        NaN without values.
    half : float or None
        None where there are too few values for an interval.
    """

    mean: float
    half: float | None


def is_significant(p: float) -> bool:
    """Whether a p-value is below the significance level; NaN is not.

    Parameters
    ----------
    p : float
        The p-value.

    Examples
    --------
    >>> is_significant(0.01), is_significant(0.05), is_significant(float("nan"))
    (True, False, False)
    """
    return p < SIGNIFICANCE_LEVEL


def interval(values: Iterable[float], groups: Sequence[object] | None = None) -> Interval:
    """Return the mean of values and half its 95 % interval by Student's t.

    Parameters
    ----------
    values : iterable of float
        NaN values are left out.
    groups : sequence, optional
        The group of each value, such as its fold. Values of one group are averaged first, and
        the interval is that of the group means: wider than treating every value as independent.

    Returns
    -------
    Interval

    Examples
    --------
    >>> mean, half = interval([0.8, 0.9, 1.0])
    >>> round(mean, 3), round(half, 3)
    (0.9, 0.248)
    >>> interval([0.5]).half is None
    True
    """
    numbers = np.fromiter(values, dtype=np.float64)
    finite = np.isfinite(numbers)
    kept = numbers[finite]
    if groups is not None:
        members = np.unique(np.asarray(groups), return_inverse=True)[1][finite]
        kept = np.array([kept[members == m].mean() for m in np.unique(members)])
    if len(kept) < 2:
        return Interval(float(kept[0]) if len(kept) else nan, None)
    error = kept.std(ddof=1) / sqrt(len(kept))
    return Interval(float(kept.mean()), float(student_quantile(len(kept) - 1) * error))


def student_quantile(degrees_of_freedom: int) -> float:
    """Return the factor from a standard error to half the width of its 95 % interval.

    Parameters
    ----------
    degrees_of_freedom : int
        The number of values minus one.

    Examples
    --------
    >>> round(student_quantile(4), 3)
    2.776
    """
    from scipy.stats import t  # the slowest import of this module, needed by few of its callers

    return float(t.ppf(0.5 + CONFIDENCE / 2, degrees_of_freedom))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for multiple comparisons by Holm's step-down method.

    The i-th smallest of m becomes max over j ≤ i of min(1, (m - j + 1) p_j). Rejecting the
    hypotheses whose result is below 0.05 makes one or more false rejections with probability at
    most 0.05, whatever the dependence of the tests.

    Parameters
    ----------
    p_values : sequence of float
        NaN stays NaN and is not counted.

    Returns
    -------
    list of float
        In the same order.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [nan] * len(p_values)
    order = sorted((i for i, p in enumerate(p_values) if isfinite(p)), key=lambda i: p_values[i])
    largest = 0.0
    for step, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - step) * p_values[i]))
        adjusted[i] = largest
    return adjusted

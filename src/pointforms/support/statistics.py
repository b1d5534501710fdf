"""The one interval and the one significance rule that every table, figure and sentence uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite, nan, sqrt
from typing import NamedTuple

#: A p-value below this level is called significant.
SIGNIFICANCE_LEVEL = 0.05
#: Coverage of every interval.
CONFIDENCE = 0.95
# Two values give no interval: with one degree of freedom it would be 18 times their spread.
_FEWEST_VALUES = 3


class Estimate(NamedTuple):
    """A mean and half the width of its 95 % interval; also a value of a table.

    Attributes
    ----------
    mean : float
        NaN without values.
    half : float or None
        None where there are too few values for an interval.
    """

    mean: float = nan
    half: float | None = None

    def number(self) -> float:
        """Return what a table sorts by."""
        return self.mean

    def parts(self, key: str) -> dict[str, float | None]:
        """Return the numbers under the names that they have in CSV."""
        return {key: self.mean, f"{key}_half": self.half}


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


class Difference(NamedTuple):
    """A difference with its interval and p-value; also a value of a table.

    Attributes
    ----------
    mean : float
    low, high : float
        Ends of the interval that belongs to `p`: where there is one, it contains 0 exactly if the
        difference is not significant. NaN where there is none.
    p : float
        The p-value that is shown and that decides on significance: adjusted for the number of
        comparisons where there are several. NaN where nothing was tested.
    p_unadjusted : float
        The p-value of this comparison alone.
    """

    mean: float = nan
    low: float = nan
    high: float = nan
    p: float = nan
    p_unadjusted: float = nan

    @property
    def significant(self) -> bool:
        """Whether the p-value is below the significance level."""
        return is_significant(self.p)

    def number(self) -> float:
        """Return what a table sorts by."""
        return self.mean

    def parts(self, key: str) -> dict[str, float]:
        """Return the numbers under the names that they have in CSV."""
        bounds = {key: self.mean, f"{key}_low": self.low, f"{key}_high": self.high}
        return bounds | {"p": self.p_unadjusted, "p_holm": self.p}


class Range(NamedTuple):
    """The smallest and the largest of several numbers; also a value of a table."""

    least: float = nan
    most: float = nan

    def number(self) -> float:
        """Return what a table sorts by."""
        return self.most

    def parts(self, key: str) -> dict[str, float]:
        """Return the numbers under the names that they have in CSV."""
        return {f"{key}_least": self.least, f"{key}_most": self.most}


def interval(values: Iterable[float], groups: Sequence[object] | None = None) -> Estimate:
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
    Estimate
        Without an interval for fewer than three values.

    Examples
    --------
    >>> mean, half = interval([0.8, 0.9, 1.0])
    >>> round(mean, 3), round(half, 3)
    (0.9, 0.248)
    >>> interval([0.5, 0.7]).half is None
    True
    """
    import numpy as np  # not needed to show numbers, which has to start quickly

    numbers = np.fromiter(values, dtype=np.float64)
    finite = np.isfinite(numbers)
    kept = numbers[finite]
    if groups is not None:
        members = np.unique(np.asarray(groups), return_inverse=True)[1][finite]
        kept = np.array([kept[members == m].mean() for m in np.unique(members)])
    if len(kept) < _FEWEST_VALUES:
        return Estimate(float(kept.mean()) if len(kept) else nan, None)
    error = kept.std(ddof=1) / sqrt(len(kept))
    return Estimate(float(kept.mean()), float(student_quantile(len(kept) - 1) * error))


def student_quantile(degrees_of_freedom: int, comparisons: float = 1.0) -> float:
    """Return the factor from a standard error to half the width of its 95 % interval.

    Parameters
    ----------
    degrees_of_freedom : int
        The number of values minus one.
    comparisons : float, default 1
        What the p-value of the same test is multiplied by: the interval has the level
        1 - 0.05 / comparisons.

    Examples
    --------
    >>> round(student_quantile(4), 3)
    2.776
    """
    from scipy.stats import t  # the slowest import of this module, needed by few of its callers

    return float(t.isf((1 - CONFIDENCE) / 2 / comparisons, degrees_of_freedom))


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


def holm_factors(p_values: Sequence[float]) -> list[float]:
    """Return what Holm's method multiplies each p-value by, for intervals that agree with it.

    An interval of level 1 - 0.05 / factor contains 0 exactly if the adjusted p-value is 0.05 or
    more. The i-th smallest of m has the factor m - i + 1, or a larger one where the adjusted
    p-value is that of a smaller p-value.

    Parameters
    ----------
    p_values : sequence of float
        NaN is not counted; its factor is 1.

    Examples
    --------
    >>> holm_factors([0.01, 0.04, 0.03])
    [3.0, 1.5, 2.0]
    """
    factors = [1.0] * len(p_values)
    adjusted = holm(p_values)
    order = sorted((i for i, p in enumerate(p_values) if isfinite(p)), key=lambda i: p_values[i])
    for step, i in enumerate(order):
        own = float(len(order) - step)
        factors[i] = max(own, adjusted[i] / p_values[i]) if p_values[i] > 0 else own
    return factors

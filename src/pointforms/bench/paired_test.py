"""The test of one model against another on the folds and seeds that both have.

Fits are not independent: those of one fold share their test clouds, those of two folds share most
of their training clouds. An interval that ignores this describes the spread of the fits; a claim
that one model beats another needs the correction of :func:`paired_test`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt
from typing import Literal

import numpy as np

from pointforms.bench.records import Record, duplicate_fit
from pointforms.support.statistics import student_quantile

Over = Literal["fits", "folds"]

#: Fewer differences than this are not tested: two or three folds agree by chance too often.
FEWEST_DIFFERENCES = 5


@dataclass(frozen=True)
class PairedTest:
    """One model minus another, on the fits that both have.

    Attributes
    ----------
    difference : float
        Mean of the differences; NaN without a pair.
    low, high : float
        Ends of the 95 % interval; NaN where nothing could be tested.
    p : float
        Two-sided p-value; NaN where nothing could be tested.
    pairs : int
        Number of pairs (fold, seed) for which both models have a successful fit.
    error : float
        The standard error of the mean; NaN where nothing could be tested.
    degrees_of_freedom : int
        The number of differences minus one.
    """

    difference: float = nan
    low: float = nan
    high: float = nan
    p: float = nan
    pairs: int = 0
    error: float = nan
    degrees_of_freedom: int = 0

    def adjusted(self, comparisons: float) -> tuple[float, float]:
        """Return the ends of the interval of level 1 - 0.05 / comparisons; NaN without a test."""
        if not isfinite(self.error):
            return nan, nan
        half = student_quantile(self.degrees_of_freedom, comparisons) * self.error
        return self.difference - half, self.difference + half


def paired_test(
    a: Sequence[Record], b: Sequence[Record], metric: str = "auroc", over: Over = "folds"
) -> PairedTest:
    """Test a - b by the corrected resampled t-test (Nadeau and Bengio, 2003).

    With J differences of variance s², the mean is taken to have the variance

        (1/J + n_test / n_train) s²,

    where the second term accounts for the training clouds that folds share, and is compared with
    Student's t with J - 1 degrees of freedom. Fewer than five differences give neither p nor an
    interval. Equal differences have s = 0: then p is 1 if they are zero and 0 otherwise.

    Parameters
    ----------
    a : sequence of Record
        Fits of one model, in any order.
    b : sequence of Record
        Fits of another model on the same clouds and folds. The two are compared on the pairs
        (fold, seed) that both have, without failed fits.
    metric : str, default "auroc"
        The attribute of records to compare.
    over : {"folds", "fits"}, default "folds"
        What counts as one difference: the mean over the seeds of a fold, or a single pair
        (fold, seed). Seeds repeat the training and not the split, so where they hardly vary,
        "fits" counts a fold several times and rejects too often. "folds" does not, at the price
        of less power.

    Examples
    --------
    >>> from pointforms.bench.records import Row
    >>> def fits(model, scores):
    ...     row = Row("circles-vs-lines", model)
    ...     sizes = {"train_size": 240, "test_size": 60}
    ...     return [Record(row, fold, 0, auroc=x, **sizes) for fold, x in enumerate(scores)]
    >>> mlp = fits("mlp", [0.70, 0.74, 0.72, 0.70, 0.74])
    >>> result = paired_test(mlp, fits("npf-tri-1", [0.9, 0.91, 0.92, 0.9, 0.92]))
    >>> round(result.difference, 3), result.pairs, result.p < 0.05
    (-0.19, 5, True)
    """
    from scipy.stats import t as student

    first, second = _by_fit(a), _by_fit(b)
    differences: dict[tuple[int, int], float] = {}
    for pair in sorted(first.keys() & second.keys()):
        difference = getattr(first[pair], metric) - getattr(second[pair], metric)
        if isfinite(difference):
            differences[pair] = difference
    if not differences:
        return PairedTest()
    pairs = len(differences)
    if over == "folds":
        by_fold = defaultdict(list)
        for (fold, _), difference in differences.items():
            by_fold[fold].append(difference)
        d = np.array([np.mean(values) for values in by_fold.values()])
    else:
        d = np.array(list(differences.values()))
    mean = float(d.mean())
    shared = _test_to_train([first[pair] for pair in differences])
    J = len(d)
    if J < FEWEST_DIFFERENCES or not isfinite(shared):
        return PairedTest(mean, pairs=pairs)
    if np.ptp(d) <= 1e-12 * max(1.0, np.abs(d).max()):  # equal up to rounding
        p = 1.0 if abs(mean) <= 1e-12 else 0.0
        return PairedTest(mean, mean, mean, p, pairs, 0.0, J - 1)
    error = sqrt((1 / J + shared) * d.var(ddof=1))
    half = student_quantile(J - 1) * error
    p = float(2 * student.sf(abs(mean) / error, J - 1))
    return PairedTest(mean, mean - half, mean + half, p, pairs, error, J - 1)


def _by_fit(records: Sequence[Record]) -> dict[tuple[int, int], Record]:
    by_fit: dict[tuple[int, int], Record] = {}
    for record in records:
        if (record.fold, record.seed) in by_fit:
            raise ValueError(duplicate_fit(record))
        by_fit[record.fold, record.seed] = record
    return by_fit


def _test_to_train(records: Sequence[Record]) -> float:
    """The mean n_test / n_train; NaN where sizes are not known."""
    if any(record.train_size <= 0 for record in records):
        return nan
    return float(np.mean([record.test_size / record.train_size for record in records]))

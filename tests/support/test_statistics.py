from __future__ import annotations

from math import isnan, nan, sqrt

import numpy as np
import pytest
from scipy import stats

from pointforms.support.statistics import (
    holm,
    holm_factors,
    interval,
    is_significant,
    student_quantile,
)


def test_the_interval_is_student_t(rng):
    values = rng.normal(size=7)
    mean, half = interval(values)
    low, high = stats.t.interval(0.95, 6, values.mean(), stats.sem(values))
    assert (mean - half, mean + half) == pytest.approx((low, high))


def test_groups_are_averaged_first(rng):
    values = rng.normal(size=12)
    groups = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    grouped = interval(values, groups)
    assert grouped == pytest.approx(interval(values.reshape(4, 3).mean(1)))
    assert interval(values, range(12)) == pytest.approx(interval(values))
    # a missing value leaves its group, not the other groups
    assert interval([1.0, nan, 3.0, 5.0], ["a", "a", "b", "b"]).mean == pytest.approx(2.5)


def test_few_values_have_no_interval():
    assert isnan(interval([]).mean)
    assert interval([]).half is None
    assert interval([nan, 0.5]) == (0.5, None)
    assert interval([0.4, 0.6], ["a", "a"]) == (pytest.approx(0.5), None)
    assert interval([0.5, 0.7]) == (pytest.approx(0.6), None)
    assert interval([0.5, 0.5, 0.5]).half == 0.0


def test_student_quantiles_tend_to_the_normal_one():
    assert student_quantile(1) == pytest.approx(12.706, abs=1e-3)
    assert student_quantile(10**7) == pytest.approx(1.959964, abs=1e-5)
    half = interval([0.0, 1.0, 1.0]).half
    assert half == pytest.approx(student_quantile(2) * np.std([0, 1, 1], ddof=1) / sqrt(3))
    assert student_quantile(4, comparisons=10) == pytest.approx(5.597568, abs=1e-5)


def test_significance_is_strict():
    assert is_significant(0.0499)
    assert not is_significant(0.05)
    assert not is_significant(nan)


def test_holm_adjusts_by_rank(rng):
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    p = rng.uniform(size=20)
    adjusted = np.array(holm(p))
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()


def test_intervals_of_holms_factors_agree_with_adjusted_p_values(rng):
    """An interval leaves out 0 exactly if the adjusted p-value is below 0.05."""
    for _ in range(200):
        t_values = rng.normal(scale=3, size=rng.integers(1, 12))
        p = 2 * stats.t.sf(np.abs(t_values), 4)
        for t, adjusted, factor in zip(t_values, holm(p), holm_factors(p), strict=True):
            assert factor >= 1
            assert (abs(t) > student_quantile(4, factor)) == is_significant(adjusted)
    assert holm_factors([0.0, nan, 0.2]) == [2.0, 1.0, 1.0]


def test_holm_ignores_missing_values():
    adjusted = holm([0.02, nan, 0.03])
    assert isnan(adjusted[1])
    assert [adjusted[0], adjusted[2]] == pytest.approx([0.04, 0.04])
    assert holm([]) == []

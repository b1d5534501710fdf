"""Intervals, and p-values of several comparisons."""

from math import isnan, sqrt

import numpy as np
import pytest

from pointforms.support.statistics import holm, interval

# --- intervals


def test_interval_of_four_values_by_hand():
    mean, half = interval([1.0, 2.0, 3.0, 4.0])
    assert mean == 2.5
    assert half == pytest.approx(3.182446 * sqrt(5 / 3) / 2, rel=1e-6)


def test_interval_leaves_nan_out_and_needs_two_values():
    assert interval([0.25, np.nan, 0.75]) == interval([0.75, 0.25])
    assert interval([0.7]) == (0.7, None)
    mean, half = interval([np.nan])
    assert isnan(mean)
    assert half is None


def test_interval_over_folds_takes_seeds_of_a_fold_as_one():
    folds = [0, 0, 1, 1, 2, 2]
    values = [0.7, 0.7, 0.8, 0.8, 0.9, 0.9]
    assert interval(values, folds) == interval([0.7, 0.8, 0.9])
    assert interval(values, folds)[1] > interval(values)[1]


# --- several comparisons


def test_holm_worked_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_keeps_order_and_bounds():
    ps = np.random.default_rng(0).uniform(size=12)
    adjusted = np.array(holm(ps))
    assert (adjusted >= ps).all()
    assert (adjusted <= np.minimum(1, 12 * ps)).all()  # never above Bonferroni's
    assert (np.diff(adjusted[ps.argsort()]) >= 0).all()


def test_holm_does_not_count_what_was_not_tested():
    found = holm([0.02, float("nan"), 0.03])
    assert found[0] == found[2] == pytest.approx(0.04)
    assert isnan(found[1])
    assert holm([]) == []

"""The corrected resampled t-test."""

import random
from math import isnan, sqrt

import numpy as np
import pytest
from scipy.stats import t, ttest_rel

from pointforms.bench.paired_test import paired_test
from pointforms.bench.records import Record, Row

TRI = Row("circles-vs-lines", "npf-tri-1")
FOREST = Row("circles-vs-lines", "random-forest")


def fits(row, aurocs, folds=5, validation=0.5, train_size=240, test_size=60):
    """Records of folds × seeds from a flat list."""
    seeds = len(aurocs) // folds
    return [
        Record(
            row,
            fold=i // seeds,
            seed=i % seeds,
            auroc=value,
            validation_loss=validation,
            train_size=train_size,
            test_size=test_size,
        )
        for i, value in enumerate(aurocs)
    ]


def shuffled(values, seed=0):
    values = list(values)
    random.Random(seed).shuffle(values)
    return values


def test_corrected_test_by_hand():
    # differences 1, 2, 3, 4, 5 (hundredths), n_test / n_train = 1/4:
    # mean 0.03, s² = 2.5e-4, variance (1/5 + 1/4) 2.5e-4, t = 0.03 / 0.0106066 = 2.828427
    a = fits(FOREST, [0.51, 0.62, 0.73, 0.84, 0.95])
    b = fits(TRI, [0.50, 0.60, 0.70, 0.80, 0.90])
    found = paired_test(a, b)
    error = sqrt(0.45 * 2.5) * 0.01
    assert found.pairs == 5
    assert found.difference == pytest.approx(0.03)
    assert found.p == pytest.approx(2 * t.sf(2.828427, 4), rel=1e-6)
    assert found.high - found.difference == pytest.approx(2.776445 * error, rel=1e-6)
    assert found.difference - found.low == pytest.approx(2.776445 * error, rel=1e-6)
    # adjusted for ten comparisons: the quantile of 1 - 0.05 / 20
    low, high = found.adjusted(10)
    assert (low, high) == pytest.approx((0.03 - 5.597568 * error, 0.03 + 5.597568 * error))


@pytest.mark.parametrize("folds", [1, 2, 4])
def test_fewer_than_five_folds_are_not_tested(folds):
    a, b = fits(FOREST, [0.9, 0.8] * folds, folds), fits(TRI, [0.1, 0.2] * folds, folds)
    found = paired_test(a, b)
    assert (found.pairs, found.difference) == (2 * folds, pytest.approx(0.7))
    assert isnan(found.p)
    assert isnan(found.low)
    assert all(map(isnan, found.adjusted(3)))


def test_without_test_clouds_it_is_the_usual_paired_test():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(2, 10))
    found = paired_test(fits(FOREST, x, test_size=0), fits(TRI, y, test_size=0), over="fits")
    usual = ttest_rel(x, y)
    assert found.p == pytest.approx(usual.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(usual.confidence_interval()))


def test_correction_widens_and_the_test_is_antisymmetric():
    rng = np.random.default_rng(1)
    a, b = fits(FOREST, rng.uniform(size=25)), fits(TRI, rng.uniform(size=25))
    there, back = paired_test(a, b), paired_test(b, a)
    assert there.difference == pytest.approx(-back.difference)
    assert (there.low, there.p) == pytest.approx((-back.high, back.p))
    assert there.p > ttest_rel([r.auroc for r in a], [r.auroc for r in b]).pvalue


def test_order_of_records_does_not_matter():
    rng = np.random.default_rng(2)
    a, b = fits(FOREST, rng.uniform(size=25)), fits(TRI, rng.uniform(size=25))
    assert paired_test(shuffled(a), shuffled(b, 1)) == paired_test(a, b)


def test_common_pairs_only():
    one_seed = fits(FOREST, [0.7, 0.8, 0.9, 0.8, 0.7])
    five = fits(TRI, np.linspace(0.5, 0.9, 25))
    first = [record for record in five if record.seed == 0]
    assert paired_test(one_seed, five) == paired_test(one_seed, first)
    assert paired_test(one_seed, five).pairs == 5


def test_failed_fits_are_left_out():
    a, b = fits(FOREST, [0.7, 0.8, 0.9, 0.6, 0.5] * 2), fits(TRI, [0.6] * 10)
    failed = [*a[:9], Record(FOREST, 4, 1, error="Traceback")]
    assert paired_test(failed, b) == paired_test(a[:9], b)
    assert paired_test(failed, b).pairs == 9


def test_equal_differences():
    a = fits(FOREST, [0.5, 0.6, 0.7, 0.8, 0.9])
    assert paired_test(a, fits(TRI, [0.5, 0.6, 0.7, 0.8, 0.9])).p == 1
    found = paired_test(a, fits(TRI, [0.4, 0.5, 0.6, 0.7, 0.8]))  # equal but for rounding
    assert found.p == 0
    assert found.low == found.high == pytest.approx(0.1)


def test_one_pair_and_none():
    one = paired_test(fits(FOREST, [0.9], folds=1), fits(TRI, [0.7], folds=1))
    assert one.difference == pytest.approx(0.2)
    assert one.pairs == 1
    assert isnan(one.p)
    assert isnan(one.low)
    none = paired_test([], fits(TRI, [0.7], folds=1))
    assert none.pairs == 0
    assert isnan(none.difference)


def test_unknown_sizes_give_no_test():
    values = [0.9, 0.8, 0.9, 0.8, 0.85]
    found = paired_test(fits(FOREST, values, train_size=0), fits(TRI, [0.7] * 5))
    assert found.difference == pytest.approx(0.15)
    assert isnan(found.p)


def test_seeds_that_repeat_themselves_are_no_evidence_over_folds():
    # five equal seeds a fold: over folds, what one seed says
    values = [0.62, 0.71, 0.58, 0.69, 0.66]
    one = paired_test(fits(FOREST, values), fits(TRI, [0.6] * 5), over="folds")
    five = paired_test(fits(FOREST, np.repeat(values, 5)), fits(TRI, [0.6] * 25), over="folds")
    assert five.p == pytest.approx(one.p)
    assert five.pairs == 25
    assert (
        paired_test(fits(FOREST, np.repeat(values, 5)), fits(TRI, [0.6] * 25), over="fits").p
        < one.p
    )


def test_a_fit_recorded_twice_is_refused():
    a = fits(FOREST, [0.5, 0.6], folds=2)
    with pytest.raises(ValueError, match="fold 0, seed 0 occurs twice"):
        paired_test([*a, a[0]], a)

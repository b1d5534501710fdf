import random
from dataclasses import replace
from math import isnan, sqrt

import numpy as np
import pytest
from scipy.stats import t, ttest_rel

from pointforms.bench.records import Record, Row
from pointforms.bench.statistics import holm, interval, paired, selected

TRI = Row("circles-vs-lines", "npf-tri-1")
FLAT = Row("circles-vs-lines", "npf-flat-1")
VOLUME = Row("circles-vs-lines", "npf-tri-1", {"measure": "volume-normalized"})
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


# --- the corrected resampled t-test


def test_corrected_test_by_hand():
    # differences 1, 2, 3, 4 (hundredths), n_test / n_train = 1/4:
    # mean 0.025, s² = 5/3 e-4, variance (1/4 + 1/4) 5/3 e-4, t = 0.025 / 0.0091287 = 2.7386
    a = fits(FOREST, [0.51, 0.62, 0.73, 0.84], folds=4)
    b = fits(TRI, [0.50, 0.60, 0.70, 0.80], folds=4)
    found = paired(a, b)
    error = sqrt(0.5 * 5 / 3) * 0.01
    assert found.pairs == 4
    assert found.difference == pytest.approx(0.025)
    assert found.p == pytest.approx(2 * t.sf(2.7386128, 3), rel=1e-6)
    assert found.high - found.difference == pytest.approx(3.182446 * error, rel=1e-6)
    assert found.difference - found.low == pytest.approx(3.182446 * error, rel=1e-6)


def test_without_test_clouds_it_is_the_usual_paired_test():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 10))
    found = paired(fits(FOREST, x, test_size=0), fits(TRI, y, test_size=0), over="fits")
    usual = ttest_rel(x, y)
    assert found.p == pytest.approx(usual.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(usual.confidence_interval()))


def test_correction_widens_and_the_test_is_antisymmetric():
    rng = np.random.default_rng(1)
    a, b = fits(FOREST, rng.uniform(size=25)), fits(TRI, rng.uniform(size=25))
    there, back = paired(a, b), paired(b, a)
    assert there.difference == pytest.approx(-back.difference)
    assert (there.low, there.p) == pytest.approx((-back.high, back.p))
    assert there.p > ttest_rel([r.auroc for r in a], [r.auroc for r in b]).pvalue


def test_order_of_records_does_not_matter():
    rng = np.random.default_rng(2)
    a, b = fits(FOREST, rng.uniform(size=25)), fits(TRI, rng.uniform(size=25))
    assert paired(shuffled(a), shuffled(b, 1)) == paired(a, b)


def test_common_pairs_only():
    one_seed = fits(FOREST, [0.7, 0.8, 0.9, 0.8, 0.7])
    five = fits(TRI, np.linspace(0.5, 0.9, 25))
    first = [record for record in five if record.seed == 0]
    assert paired(one_seed, five) == paired(one_seed, first)
    assert paired(one_seed, five).pairs == 5


def test_failed_fits_are_left_out():
    a, b = fits(FOREST, [0.7, 0.8, 0.9, 0.6, 0.5]), fits(TRI, [0.6, 0.6, 0.6, 0.6, 0.6])
    failed = [*a[:4], Record(FOREST, 4, 0, error="Traceback")]
    assert paired(failed, b) == paired(a[:4], b)


def test_equal_differences():
    a = fits(FOREST, [0.5, 0.6, 0.7], folds=3)
    assert paired(a, fits(TRI, [0.5, 0.6, 0.7], folds=3)).p == 1
    found = paired(a, fits(TRI, [0.4, 0.5, 0.6], folds=3))  # equal but for rounding
    assert found.p == 0
    assert found.low == found.high == pytest.approx(0.1)


def test_one_pair_and_none():
    one = paired(fits(FOREST, [0.9], folds=1), fits(TRI, [0.7], folds=1))
    assert one.difference == pytest.approx(0.2)
    assert one.pairs == 1
    assert isnan(one.p)
    assert isnan(one.low)
    none = paired([], fits(TRI, [0.7], folds=1))
    assert none.pairs == 0
    assert isnan(none.difference)


def test_unknown_sizes_give_no_test():
    found = paired(fits(FOREST, [0.9, 0.8], 2, train_size=0), fits(TRI, [0.7, 0.7], 2))
    assert found.difference == pytest.approx(0.15)
    assert isnan(found.p)


def test_seeds_that_repeat_themselves_are_no_evidence_over_folds():
    # five equal seeds a fold: over folds, what one seed says
    values = [0.62, 0.71, 0.58, 0.69, 0.66]
    one = paired(fits(FOREST, values), fits(TRI, [0.6] * 5), over="folds")
    five = paired(fits(FOREST, np.repeat(values, 5)), fits(TRI, [0.6] * 25), over="folds")
    assert five.p == pytest.approx(one.p)
    assert five.pairs == 25
    assert paired(fits(FOREST, np.repeat(values, 5)), fits(TRI, [0.6] * 25), over="fits").p < one.p


def test_a_fit_recorded_twice_is_refused():
    a = fits(FOREST, [0.5, 0.6], folds=2)
    with pytest.raises(ValueError, match="fold 0, seed 0 occurs twice"):
        paired([*a, a[0]], a)


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


# --- selection


def _grid(seed=0):
    """Three rows of ours, a baseline that would win, and five folds of two seeds."""
    rng = np.random.default_rng(seed)
    return [
        replace(record, validation_loss=rng.uniform())
        for row in (TRI, FLAT, VOLUME, FOREST)
        for record in fits(row, rng.uniform(size=10))
    ]


def _chosen(records, *args):
    return [(r.row, r.fold, r.seed) for r in selected(records, *args)]


def test_least_mean_validation_loss_of_every_fold():
    records = _grid()
    found = selected(records)
    assert [(r.fold, r.seed) for r in found] == [(f, s) for f in range(5) for s in range(2)]
    for fold in range(5):
        losses = {
            row: np.mean([r.validation_loss for r in records if r.row == row and r.fold == fold])
            for row in (TRI, FLAT, VOLUME)
        }
        rows = {r.row for r in found if r.fold == fold}
        assert rows == {min(losses, key=losses.get)}
    assert len({r.row for r in found}) > 1


def test_selection_never_sees_the_test_fold():
    records = _grid()
    rng = np.random.default_rng(7)
    changed = [
        replace(r, auroc=rng.uniform(), accuracy=rng.uniform(), log_loss=rng.uniform())
        for r in records
    ]
    blind = [replace(r, auroc=np.nan, accuracy=np.nan, log_loss=np.nan) for r in records]
    assert _chosen(changed) == _chosen(records) == _chosen(blind)
    for metric in ("auroc", "log_loss", "accuracy"):
        with pytest.raises(ValueError, match="not on test data"):
            selected(records, by=metric)


def test_selection_does_not_depend_on_order():
    records = _grid()
    equal = [replace(r, validation_loss=0.5) for r in records]
    for given in (records, equal):
        assert _chosen(shuffled(given)) == _chosen(given)


def test_a_lucky_single_seed_cannot_win():
    records = fits(TRI, [0.6] * 10, validation=0.5)
    lucky = [replace(r, row=FLAT, validation_loss=0.1) for r in records if r.seed == 0]
    assert {r.row for r in selected(records + lucky)} == {TRI}
    rest = [replace(r, row=FLAT, validation_loss=0.2) for r in records if r.seed == 1]
    assert {r.row for r in selected(records + lucky + rest)} == {FLAT}


def test_failed_fits_are_not_covered():
    records = fits(TRI, [0.6, 0.6], folds=1) + fits(FLAT, [0.6, 0.6], folds=1, validation=0.1)
    records[3] = Record(FLAT, 0, 1, error="Traceback")
    assert {r.row for r in selected(records)} == {TRI}


def test_rows_may_be_given_and_tasks_choose_by_themselves():
    records = _grid()
    assert {r.row for r in selected(records, [FOREST])} == {FOREST}
    other = [replace(r, row=replace(r.row, task="colocated")) for r in _grid(1)]
    assert len(selected(records + other)) == 20
    assert selected([]) == []

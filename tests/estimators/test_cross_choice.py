"""Options chosen by out-of-fold losses, none of a cloud for itself."""

from __future__ import annotations

import numpy as np
import pytest

from pointforms.estimators.cross_choice import cross_fitted_choice

FOLDS = np.repeat([0, 1, 2], 4)


def test_the_best_option_is_that_of_the_smallest_mean(rng):
    losses = rng.random((6, 12))
    chosen = cross_fitted_choice(losses, FOLDS)
    assert chosen.overall == losses.mean(1).argmin()
    for fold in range(3):
        assert chosen.by_fold[fold] == losses[:, fold != FOLDS].mean(1).argmin()


@pytest.mark.parametrize("fold", [0, 1, 2])
def test_no_fold_takes_part_in_its_own_choice(fold, rng):
    losses = rng.random((6, 12))
    before = cross_fitted_choice(losses, FOLDS).by_fold
    changed = losses.copy()
    changed[:, fold == FOLDS] = 100 * rng.random((6, 4))
    after = cross_fitted_choice(changed, FOLDS)
    assert after.by_fold[fold] == before[fold]
    assert after.overall == changed.mean(1).argmin()


def test_weights_count_clouds():
    """A cloud of weight 2 is as two clouds, one of weight 0 as none."""
    losses = np.array([[0.0, 3.0, 1.0, 9.0], [1.0, 1.0, 1.0, 0.0]])
    folds = np.array([0, 1, 2, 2])
    weights = np.array([2.0, 1.0, 1.0, 0.0])
    repeated = [0, 0, 1, 2]
    expected = cross_fitted_choice(losses[:, repeated], folds[repeated])
    found = cross_fitted_choice(losses, folds, weights)
    assert found.overall == expected.overall
    np.testing.assert_array_equal(found.by_fold, expected.by_fold)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_option_that_failed_is_not_chosen(value):
    losses = np.array([[0.0, 0.0, value], [5.0, 5.0, 5.0]])
    chosen = cross_fitted_choice(losses, np.array([0, 1, 2]))
    assert chosen.overall == 1
    assert chosen.by_fold.tolist() == [1, 1, 0]  # where the loss of fold 2 does not count
    ignored = cross_fitted_choice(losses, np.array([0, 1, 2]), np.array([1.0, 1.0, 0.0]))
    assert ignored.overall == 0


def test_one_fold_has_no_others():
    chosen = cross_fitted_choice(np.array([[2.0, 2.0], [1.0, 1.0]]), np.zeros(2, int))
    assert (chosen.overall, chosen.by_fold.tolist()) == (1, [1])

from __future__ import annotations

import numpy as np
import pytest

from pointforms.estimators.cross_choice import cross_fitted_choice

FOLDS = np.array([0, 0, 1, 1, 2, 2])


def test_each_fold_gets_the_choice_of_a_search_without_it(rng):
    losses = rng.uniform(size=(7, 60))
    folds = rng.permutation(np.arange(60) % 5)
    weights = rng.uniform(size=60)
    for given in (None, weights):
        choice = cross_fitted_choice(losses, folds, given)
        assert choice.overall == np.average(losses, axis=1, weights=given).argmin()
        assert choice.by_fold.shape == (5,)
        for fold in range(5):
            other = folds != fold
            some = None if given is None else given[other]
            means = np.average(losses[:, other], axis=1, weights=some)
            assert choice.by_fold[fold] == means.argmin()


def test_losses_of_a_fold_do_not_affect_its_choice(rng):
    losses = rng.uniform(size=(5, 6))
    before = cross_fitted_choice(losses, FOLDS)
    for option in range(5):
        changed = losses.copy()
        changed[option, FOLDS == 1] -= 100
        after = cross_fitted_choice(changed, FOLDS)
        assert after.overall == option
        assert after.by_fold[1] == before.by_fold[1]


def test_the_first_of_equal_options_is_chosen():
    losses = np.array([[2.0] * 6, [1.0] * 6, [1.0] * 6])
    choice = cross_fitted_choice(losses, FOLDS)
    assert choice.overall == 1
    np.testing.assert_array_equal(choice.by_fold, [1, 1, 1])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_option_with_a_loss_that_is_not_finite_is_never_chosen(bad):
    losses = np.array([[0.1] * 6, [0.5] * 6])
    losses[0, 0] = bad  # also for fold 0, where the other folds see only small losses
    choice = cross_fitted_choice(losses, FOLDS)
    assert choice.overall == 1
    np.testing.assert_array_equal(choice.by_fold, [1, 1, 1])
    with pytest.raises(ValueError, match="none of 2 options has a finite loss"):
        cross_fitted_choice(np.full((2, 6), bad), FOLDS)


def test_a_single_fold_has_the_overall_choice():
    choice = cross_fitted_choice(np.array([[3.0, 3.0], [1.0, 2.0]]), np.zeros(2, dtype=int))
    assert choice.overall == 1
    np.testing.assert_array_equal(choice.by_fold, [1])


def test_a_weight_of_0_leaves_a_cloud_out():
    losses = np.array([[0.0, 1.0, 1.0], [9.0, 0.0, 0.0]])
    folds = np.array([0, 0, 1])
    assert cross_fitted_choice(losses, folds).overall == 0
    choice = cross_fitted_choice(losses, folds, np.array([0.0, 1.0, 0.0]))
    assert choice.overall == 1
    np.testing.assert_array_equal(choice.by_fold, [1, 1])  # the only weight is in fold 0


def test_errors_say_what_was_passed():
    losses = np.zeros((2, 6))
    with pytest.raises(ValueError, match=r"losses has shape \(6,\)"):
        cross_fitted_choice(losses[0], FOLDS)
    with pytest.raises(ValueError, match=r"losses has shape \(0, 6\)"):
        cross_fitted_choice(losses[:0], FOLDS)
    with pytest.raises(ValueError, match=r"folds has shape \(5,\)"):
        cross_fitted_choice(losses, FOLDS[1:])
    with pytest.raises(ValueError, match="type float64"):
        cross_fitted_choice(losses, FOLDS * 1.0)
    with pytest.raises(ValueError, match="expected 6 finite numbers of at least 0"):
        cross_fitted_choice(losses, FOLDS, -np.ones(6))

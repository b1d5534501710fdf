"""The test of perturbed against original losses: small cases by hand, and its level."""

from __future__ import annotations

import numpy as np
import pytest

from pointforms.explain.exchange_test import Versions, p_values, smallest_p


def one_version(differences):
    differences = np.asarray(differences, dtype=float)
    return Versions(np.stack([np.ones(len(differences)), 1 + differences]))


def test_six_groups_that_all_lose():
    p = p_values([one_version([1, 2, 1, 1, 3, 1])], cross_fitted=False, seed=0)
    assert p[0] == pytest.approx(2**-6, abs=0.004)  # exchanges of one version are drawn flips
    assert smallest_p(one_version(np.ones(6)), cross_fitted=False) == pytest.approx(2**-6)


def test_nothing_changes():
    p = p_values([one_version(np.zeros(5)), one_version(1e-14 * np.ones(5))], False, 0)
    assert p.tolist() == [1, 1]


def test_losses_that_fall_are_not_found():
    assert p_values([one_version(-np.ones(10))], False, 0)[0] == 1


def test_models_that_share_training_clouds_have_larger_p_values():
    column = one_version(np.ones(12))
    alone, shared = (p_values([column], cross_fitted, 0)[0] for cross_fitted in (False, True))
    assert shared == pytest.approx(2 * alone)


def test_swaps_between_two_groups_are_one_unit():
    # a pair of groups that exchange what they have gives one bit, not two
    pairs = [np.array([i, i + 1]) for i in range(0, 8, 2)]
    column = Versions(one_version(np.ones(8)).losses, pairs)
    assert smallest_p(column, cross_fitted=False) == pytest.approx(1 / 16)
    assert p_values([column], False, 0)[0] == pytest.approx(1 / 16, abs=0.01)


def test_skewed_losses_hold_the_level():
    # the mean of many skewed losses minus one: flips alone would reject three times as often
    rng = np.random.default_rng(0)
    rejected = 0
    for seed in range(60):
        column = Versions(rng.lognormal(sigma=1.5, size=(9, 12)))
        rejected += p_values([column], False, seed)[0] < 0.05
    assert rejected <= 8  # more have a probability of 0.003 at a level of 0.05

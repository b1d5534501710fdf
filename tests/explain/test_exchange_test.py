"""The test of perturbed against original losses: small cases by hand, and its level."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from pointforms.explain import exchange_test
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


def test_groups_without_versions_do_not_make_the_smallest_p_smaller():
    # five groups exchange what they have, and three have nobody to exchange it with
    losses = np.full((5, 8), np.nan)
    losses[0] = 1.0
    losses[1:, :5] = 2.0
    column = Versions(losses, [np.arange(5), *np.arange(5, 8)[:, None]])
    smallest = smallest_p(column, cross_fitted=True)
    assert smallest == pytest.approx(2**-5 * (1 + 12 / 8))
    assert p_values([column], True, 0)[0] == pytest.approx(smallest)
    alone = Versions(losses[:, 5:], [np.array([i]) for i in range(3)])
    assert smallest_p(alone, cross_fitted=False) == 1


def by_all_draws_at_once(columns, seed):
    """A slow reference, which keeps the statistics of all columns in all draws."""
    rng = np.random.default_rng(seed)
    differences = np.stack([column.differences() for column in columns], 1)
    flips = exchange_test._signs(len(differences), rng) @ (
        differences / np.sqrt((differences**2).sum(0))
    )
    exchanges = np.zeros((exchange_test.DRAWS, len(columns)))
    for places, blocks in exchange_test._same_versions(columns):
        counts = np.isfinite(columns[places[0]].losses).sum(0)
        drawn = exchange_test._drawn_versions(counts, blocks, rng)
        for c in places:
            advantages = columns[c].advantages()
            taken = advantages[drawn, np.arange(drawn.shape[1])].sum(1)
            exchanges[:, c] = taken / np.sqrt((advantages**2).sum())
    both = [
        np.array([(s.max(1) >= s[0, c] - 1e-9).mean() for c in range(len(columns))])
        for s in (flips, exchanges)
    ]
    smallest = [smallest_p(column, cross_fitted=False) for column in columns]
    return np.maximum(np.maximum(*both), smallest)


@pytest.mark.parametrize("groups", [7, 15])
def test_chunks_of_draws_give_the_same_p_values(monkeypatch, groups):
    rng = np.random.default_rng(0)
    blocks = np.array_split(np.arange(groups), 3)
    columns = []
    for _ in range(4):
        losses = 1 + rng.normal(size=(1 + max(map(len, blocks)), groups)) ** 2
        losses[0] -= 0.8
        for own in blocks:
            losses[len(own) :, own] = np.nan
        columns += [Versions(losses, blocks), Versions(rng.lognormal(size=(4, groups)))]
    expected = by_all_draws_at_once(columns, 3)
    assert len(set(expected)) > 4
    for size in (10, 1000, 1 << 20):
        monkeypatch.setattr(exchange_test, "_CHUNK", size)
        assert p_values(columns, False, 3) == pytest.approx(expected, abs=1e-12)


def test_memory_does_not_grow_with_draws_times_columns():
    rng = np.random.default_rng(0)
    columns = [Versions(rng.lognormal(size=(2, 6))) for _ in range(1000)]
    tracemalloc.start()
    p_values(columns, False, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < exchange_test.DRAWS * len(columns) * 8 / 2


@pytest.mark.parametrize("seed", range(5))
def test_no_p_value_is_below_the_smallest_possible(seed):
    """Four exchanges are drawn at random, and the observed one in more or less than a quarter."""
    blocks = (np.array([0, 1]), np.array([2, 3]))
    column = Versions(np.stack([np.zeros(4), np.ones(4)]), blocks)
    p = p_values([column], cross_fitted=False, seed=seed)[0]
    assert smallest_p(column, cross_fitted=False) == 0.25
    assert p == pytest.approx(0.25, abs=0.02)
    assert p >= 0.25

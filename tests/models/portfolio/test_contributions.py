from __future__ import annotations

import numpy as np
import pytest

from pointforms.models.portfolio.contributions import Contribution, contribution


def probabilities(scores: np.ndarray) -> np.ndarray:
    p = 1 / (1 + np.exp(-scores))
    return np.stack([1 - p, p], axis=1)


@pytest.fixture
def planted():
    """Classes of 120 clouds in 60 groups, and predictions with and without what tells them."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(60) % 2, 2)
    weak = 0.3 * y + rng.normal(size=120)
    return y, probabilities(weak + 2 * y), probabilities(weak), np.repeat(np.arange(60), 2)


class TestSentence:
    def test_with_an_interval(self):
        one = Contribution("geometry", "summaries", 0.0312, 0.0118, 0.05, "AUROC", 120)
        assert str(one) == (
            "geometry adds +0.031 [0.012, 0.050] AUROC to summaries alone "
            "(out of fold, paired bootstrap over 120 groups)"
        )

    def test_without_one(self):
        one = Contribution("summaries", "geometry", -0.1, None, None, "R²", 7)
        assert str(one) == (
            "summaries add -0.100 R² to geometry alone "
            "(out of fold; 7 groups are too few for an interval)"
        )


class TestGain:
    def test_a_planted_gain_is_found(self, planted):
        y, with_it, without_it, groups = planted
        found = contribution("geometry", "summaries", y, with_it, without_it, groups, seed=0)
        assert 0.1 < found.low < found.gain < found.high < 0.6
        assert (found.metric, found.groups) == ("AUROC", 60)
        lost = contribution("geometry", "summaries", y, without_it, with_it, groups, seed=0)
        assert lost.gain == pytest.approx(-found.gain)
        assert (lost.low, lost.high) == pytest.approx((-found.high, -found.low))

    def test_the_same_predictions_add_exactly_nothing(self, planted):
        y, with_it, _, groups = planted
        found = contribution("geometry", "summaries", y, with_it, with_it.copy(), groups, seed=0)
        assert (found.gain, found.low, found.high) == (0, 0, 0)

    def test_r2_of_numbers(self):
        rng = np.random.default_rng(0)
        y = rng.normal(size=(50, 2))
        good, bad = y + 0.1 * rng.normal(size=y.shape), np.zeros_like(y)
        found = contribution("geometry", "summaries", y, good, bad, np.arange(50), seed=0)
        assert found.metric == "R²"
        assert 0.9 < found.low < found.gain < found.high < 1.2

    def test_pairs_of_a_group_are_no_evidence_of_their_own(self, planted):
        """Copies of all clouds leave the interval as it was, if they are in the same groups."""
        y, with_it, without_it, groups = planted
        one = contribution("a", "b", y, with_it, without_it, groups, seed=0)
        twice = [np.concatenate([values, values]) for values in (y, with_it, without_it, groups)]
        copies = contribution("a", "b", *twice, seed=0)
        assert (copies.low, copies.high) == pytest.approx((one.low, one.high))
        apart = contribution("a", "b", *twice[:3], np.arange(240), seed=0)
        assert apart.high - apart.low < 0.8 * (one.high - one.low)

    @pytest.mark.parametrize(("groups", "known"), [(9, False), (10, True)])
    def test_an_interval_needs_ten_groups(self, groups, known, planted):
        y, with_it, without_it, _ = planted
        found = contribution("a", "b", y, with_it, without_it, np.arange(120) % groups, seed=0)
        assert found.groups == groups
        assert (found.low is not None) == (found.high is not None) == known

    def test_a_seed_repeats_it(self, planted):
        first, again, other = (contribution("a", "b", *planted, seed=s) for s in (1, 1, 2))
        assert first == again
        assert first.gain == other.gain
        assert first.low != other.low

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from pointforms.support.bootstrap import group_weights, weighted_auroc, weighted_r2

N = 40


@pytest.fixture
def counts(rng):
    """How often each of 40 clouds is drawn, in six samples."""
    return rng.multinomial(N, np.full(N, 1 / N), 6).astype(np.float64)


def repeated(count: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(N), count.astype(int))


class TestGroupWeights:
    def test_groups_stay_whole(self, rng):
        groups = rng.integers(0, 12, N).astype(str)
        weights = group_weights(groups, 50, seed=3)
        assert weights.shape == (50, N)
        for name in np.unique(groups):
            members = weights[:, groups == name]
            assert (members == members[:, :1]).all()

    def test_as_many_groups_are_drawn_as_there_are(self):
        groups = np.array([5, 5, 5, 1, 2, 2])
        weights = group_weights(groups, 2000, seed=0)
        drawn = weights[:, [0, 3, 4]]
        assert (drawn.sum(1) == 3).all()
        np.testing.assert_allclose(drawn.mean(0), 1, atol=0.1)
        assert (drawn == 0).any()

    def test_a_seed_repeats_them(self):
        first, again, other = (group_weights(np.arange(N), 5, seed=s) for s in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first, other)


class TestAuroc:
    @pytest.mark.parametrize("ties", [False, True])
    def test_it_is_that_of_repeated_samples(self, ties, counts, rng):
        y = np.arange(N) % 2
        p = rng.uniform(size=N) + 0.3 * y
        p = np.round(p, 1) if ties else p
        found = weighted_auroc(y, np.stack([-p, p], axis=1), counts)
        expected = [roc_auc_score(y[repeated(c)], p[repeated(c)]) for c in counts]
        np.testing.assert_allclose(found, expected)

    @pytest.mark.parametrize("ties", [False, True])
    def test_with_more_classes_it_is_each_against_the_rest(self, ties, counts, rng):
        y = np.arange(N) % 3
        p = rng.dirichlet(np.ones(3), N) + 0.5 * np.eye(3)[y]
        p /= p.sum(1, keepdims=True)
        if ties:
            p = np.round(p, 1)
        found = weighted_auroc(y, p, counts)
        for area, count in zip(found, counts, strict=True):
            index = repeated(count)
            each = [roc_auc_score(y[index] == c, p[index, c]) for c in range(3)]
            assert area == pytest.approx(np.mean(each))

    def test_fractions_are_weights_too(self, rng):
        y, p, weights = np.arange(N) % 2, rng.uniform(size=N), rng.uniform(size=(1, N))
        expected = roc_auc_score(y, p, sample_weight=weights[0])
        assert weighted_auroc(y, np.stack([1 - p, p], axis=1), weights)[0] == pytest.approx(
            expected
        )

    def test_a_sample_of_one_class_has_none(self):
        y = np.array([0, 0, 1])
        p = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
        found = weighted_auroc(y, p, np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
        assert np.isnan(found[0])
        assert found[1] == 1

    def test_a_class_that_is_not_drawn_is_left_out(self):
        y = np.array([0, 1, 2])
        p = np.array([[0.9, 0.05, 0.05], [0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
        assert weighted_auroc(y, p, np.array([[1.0, 1.0, 0.0]]))[0] == 1


class TestR2:
    def test_it_is_that_of_repeated_samples(self, counts, rng):
        y = rng.normal((1e6, -3), size=(N, 2))
        predicted = y + 0.5 * rng.normal(size=(N, 2))
        found = weighted_r2(y, predicted, counts)
        expected = [r2_score(y[repeated(c)], predicted[repeated(c)]) for c in counts]
        np.testing.assert_allclose(found, expected, rtol=1e-6)

    def test_numbers_that_do_not_vary_are_predicted_or_not(self):
        """A sample of equal numbers has a variance of rounding errors at most."""
        y = np.append(np.full(9, 0.1), 3.0)[:, None]
        weights = np.vstack([np.append(np.ones(9), 0.0), np.append(np.ones(9) / 7, 0.0)])
        assert weighted_r2(y, y, weights).tolist() == [1, 1]
        assert weighted_r2(y, y + 1, weights).tolist() == [0, 0]
        assert r2_score(y[:9], y[:9] + 1) == 0

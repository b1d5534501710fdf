from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss

from pointforms.estimators.targets import ClassTargets, NumberTargets
from pointforms.models.portfolio.common_prior import with_common_prior
from pointforms.models.portfolio.pooling import Pool, constant_output, cross_fitted_pool

N = 300


@pytest.fixture
def classes():
    """Targets of two classes, and predictions of one part that knows them and one that does not."""
    rng = np.random.default_rng(0)
    known, guessed = rng.beta(0.3, 0.3, (2, N)).clip(0.01, 0.99)
    y = (rng.uniform(size=N) < known).astype(int)
    predicted = np.stack([np.stack([1 - p, p], axis=1) for p in (known, guessed)])
    return ClassTargets.of(y, N), predicted


@pytest.fixture
def numbers():
    """The same for numbers."""
    rng = np.random.default_rng(0)
    targets = NumberTargets.of(rng.normal(size=(N, 2)), N)
    known = targets.values + 0.1 * rng.normal(size=(N, 2))
    return targets, np.stack([known, rng.normal(size=(N, 2))])


@pytest.fixture(params=["classes", "numbers"])
def problem(request):
    return request.getfixturevalue(request.param)


def folds_of(count: int) -> np.ndarray:
    return np.arange(count) // 2 % 5


class TestWeights:
    def test_a_part_that_knows_outweighs_one_that_does_not(self, problem):
        targets, predicted = problem
        pool = Pool.learn(predicted, targets, np.arange(N))
        known, guessed, constant = pool.weights
        assert known > 0.8
        assert guessed < 0.15
        assert constant < 0.15
        order = np.array([1, 0])
        other = Pool.learn(predicted[order], targets, np.arange(N))
        np.testing.assert_allclose(other.weights, [guessed, known, constant], atol=1e-4)

    @pytest.mark.parametrize("seed", range(5))
    def test_they_are_never_negative(self, seed):
        """Not even for a part that is always wrong."""
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, N)
        targets = ClassTargets.of(y, N)
        wrong = softmax(-3.0 * np.eye(3)[targets.values] + rng.normal(size=(N, 3)), axis=1)
        random = softmax(rng.normal(size=(N, 3)), axis=1)
        pool = Pool.learn(np.stack([wrong, random]), targets, np.arange(N))
        assert pool.weights.min() >= 0
        assert pool.weights[0] < 0.05

    def test_twins_share_theirs(self, problem):
        targets, predicted = problem
        pool = Pool.learn(predicted[[0, 0]], targets, np.arange(N))
        assert pool.weights[0] == pytest.approx(pool.weights[1], abs=1e-4)

    def test_few_clouds_say_little(self, problem):
        """The weights of two clouds are near those of the mean; many clouds decide."""
        targets, predicted = problem
        away = [
            np.abs(Pool.learn(predicted, targets, np.arange(n)).weights - [0.5, 0.5, 0]).max()
            for n in (1, 4, N)
        ]
        assert away[0] < 0.3
        assert away[0] < away[2] > 0.4

    def test_the_loss_is_smaller_than_that_of_the_mean(self, classes):
        targets, predicted = classes
        pooled = Pool.learn(predicted, targets, np.arange(N)).predict(predicted)
        mean = Pool(np.array([0.5, 0.5, 0]), constant_output(targets), True).predict(predicted)
        assert log_loss(targets.values, pooled) < log_loss(targets.values, mean)

    def test_parts_without_any_knowledge_leave_the_frequencies(self):
        """Confident guesses are flattened, towards what is known without looking."""
        rng = np.random.default_rng(0)
        y = (np.arange(400) % 4 == 0).astype(int)
        p = rng.uniform(0.01, 0.99, 400)
        pool = Pool.learn(
            np.stack([1 - p, p], axis=1)[None], ClassTargets.of(y, 400), np.arange(400)
        )
        assert pool.weights[0] < 0.05
        pooled = pool.predict(np.array([[[0.01, 0.99]]]))
        assert pooled[0, 1] == pytest.approx(0.25, abs=0.1)

    def test_clouds_count_by_their_weights(self, classes):
        targets, predicted = classes
        twice = np.concatenate([np.arange(N), np.arange(100)])
        repeated = ClassTargets.of(targets.values[twice], len(twice))
        weights = np.where(np.arange(N) < 100, 2.0, 1.0)
        weighted = ClassTargets.of(targets.values, N, sample_weight=weights)
        by_copies = Pool.learn(predicted[:, twice], repeated, np.arange(len(twice)))
        by_weights = Pool.learn(predicted, weighted, np.arange(N))
        # the belief counts as much as two clouds, of 400 or of 300
        np.testing.assert_allclose(by_weights.weights, by_copies.weights, atol=0.03)
        np.testing.assert_allclose(by_weights.constant, by_copies.constant)


class TestPredictions:
    def test_one_part_of_weight_1_is_returned(self, problem):
        targets, predicted = problem
        pool = Pool(np.array([1.0, 0, 0]), constant_output(targets), targets.probabilities)
        np.testing.assert_allclose(pool.predict(predicted), predicted[0])

    def test_numbers_are_added_and_probabilities_multiplied(self):
        weights = np.array([0.5, 2.0, 0.0])
        values = np.array([[[1.0]], [[3.0]]])
        assert Pool(weights, np.zeros(1), False).predict(values) == [[6.5]]
        odds = np.array([[[0.2, 0.8]], [[0.25, 0.75]]])
        pooled = Pool(weights, np.log([0.5, 0.5]), True).predict(odds)
        assert pooled[0, 1] / pooled[0, 0] == pytest.approx(4**0.5 * 3**2)

    def test_an_impossible_class_does_not_decide_alone(self):
        odds = np.array([[[0.0, 1.0]], [[0.999, 0.001]]])
        pooled = Pool(np.array([0.5, 0.5, 0]), np.log([0.5, 0.5]), True).predict(odds)
        assert np.isfinite(pooled).all()
        assert 0.001 < pooled[0, 0] < 0.999


class TestCrossFitting:
    def test_each_fold_is_pooled_by_the_others(self, problem):
        targets, predicted = problem
        folds = folds_of(N)
        pooled = cross_fitted_pool(predicted, targets, folds)
        for fold in range(5):
            pool = Pool.learn(predicted, targets, np.flatnonzero(folds != fold))
            inside = folds == fold
            np.testing.assert_array_equal(pooled[inside], pool.predict(predicted[:, inside]))

    def test_labels_of_a_fold_do_not_matter_to_it(self, classes):
        """Two clouds of one fold swap labels, so that the frequencies stay as they are."""
        targets, predicted = classes
        folds = folds_of(N)
        first, second = (np.flatnonzero((folds == 0) & (targets.values == c))[0] for c in (0, 1))
        swapped = targets.values.copy()
        swapped[[first, second]] = swapped[[second, first]]
        before = cross_fitted_pool(predicted, targets, folds)
        after = cross_fitted_pool(predicted, ClassTargets.of(swapped, N), folds)
        np.testing.assert_array_equal(after[folds == 0], before[folds == 0])
        assert not np.array_equal(after[folds == 1], before[folds == 1])

    def test_numbers_of_a_fold_do_not_matter_to_it(self, numbers):
        targets, predicted = numbers
        folds = folds_of(N)
        before = cross_fitted_pool(predicted, targets, folds)
        targets.values[0] += 5
        after = cross_fitted_pool(predicted, targets, folds)
        np.testing.assert_array_equal(after[folds == 0], before[folds == 0])
        assert not np.array_equal(after[folds == 1], before[folds == 1])


class TestCommonPrior:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_a_model_that_knows_frequencies_alone_predicts_the_same_for_all(self, weighted):
        rng = np.random.default_rng(0)
        y, folds = rng.integers(0, 3, 60), rng.integers(0, 5, 60)
        weights = rng.uniform(0.1, 2, 60) if weighted else None
        targets = ClassTargets.of(y, 60, sample_weight=weights)
        predicted = np.zeros((60, 3))
        for fold in range(5):
            outside = folds != fold
            own = None if weights is None else weights[outside]
            counts = np.bincount(y[outside], own, 3)
            predicted[~outside] = counts / counts.sum()
        assert np.ptp(predicted, axis=0).max() > 0.03
        corrected = with_common_prior(predicted, targets, folds)
        frequencies = np.bincount(y, weights, 3) / (60 if weights is None else weights.sum())
        np.testing.assert_allclose(corrected, np.tile(frequencies, (60, 1)))

    def test_folds_of_equal_frequencies_and_numbers_stay(self, classes, numbers):
        _, [predicted, _] = classes
        targets = ClassTargets.of(np.arange(N) % 2, N)
        np.testing.assert_allclose(with_common_prior(predicted, targets, folds_of(N)), predicted)
        targets, [predicted, _] = numbers
        assert with_common_prior(predicted, targets, folds_of(N)) is predicted

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from pointforms.models.portfolio.linear import LinearHead

SIZES = [(80, 5), (40, 70)]  # more clouds than features, and fewer


@pytest.mark.parametrize(("count", "features"), SIZES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_models_are_those_of_scikit_learn(count, features, classes, weighted, rng):
    X = rng.normal(size=(count, features)) * 10.0 ** rng.integers(-3, 4, features)
    signal = X[:, 0] / X[:, 0].std() + rng.normal(size=count)
    y = (np.argsort(np.argsort(signal)) * classes) // count
    folds = np.arange(count) % 4
    weights = rng.uniform(0.5, 2, count) if weighted else None
    head = LinearHead(classes)
    head.fit(X, y, folds, weights)
    relative = None if weights is None else weights / weights.mean()
    expected = np.zeros((count, classes))
    for fold in range(4):
        train = folds != fold
        some = None if relative is None else relative[train]
        scaler = StandardScaler().fit(X[train], sample_weight=some)
        model = LogisticRegression(C=1 / head.penalty, tol=1e-8, max_iter=5000)
        model.fit(scaler.transform(X[train]), y[train], some)
        expected += model.predict_proba(scaler.transform(X)) / 4
    np.testing.assert_allclose(head.predict(X), expected, atol=2e-3)


@pytest.mark.parametrize(("count", "features"), SIZES)
@pytest.mark.parametrize("weighted", [False, True])
def test_regression_is_ridge(count, features, weighted, rng):
    X = rng.normal(size=(count, features)) * 10.0 ** rng.integers(-3, 4, features)
    y = (X / X.std(0))[:, :3] @ rng.normal(size=(3, 2)) + rng.normal(size=(count, 2))
    folds = np.arange(count) % 4
    weights = rng.uniform(0.5, 2, count) if weighted else None
    head = LinearHead(None)
    head.fit(X, y, folds, weights)
    relative = None if weights is None else weights / weights.mean()
    expected = np.zeros((count, 2))
    for fold in range(4):
        train = folds != fold
        some = None if relative is None else relative[train]
        scaler = StandardScaler().fit(X[train], sample_weight=some)
        model = Ridge(alpha=head.penalty).fit(scaler.transform(X[train]), y[train], some)
        expected += model.predict(scaler.transform(X)) / 4
    np.testing.assert_allclose(head.predict(X), expected, atol=1e-8)


@pytest.mark.parametrize("classes", [2, None])
def test_noise_gets_a_strong_penalty_and_a_clear_signal_a_weak_one(classes, rng):
    X = rng.normal(size=(100, 20))
    folds = np.arange(100) % 5
    noise, signal = rng.normal(size=100), X[:, 0] - X[:, 1]
    penalties = []
    for target in (noise, signal):
        y = (target > 0).astype(int) if classes else target[:, None]
        head = LinearHead(classes)
        head.fit(X, y, folds)
        penalties.append(head.penalty)
    assert penalties[0] > 100 * penalties[1]


def test_a_model_needs_a_class_that_it_has_seen(rng):
    X = rng.normal(size=(30, 2))
    head = LinearHead(2)
    head.fit(X, (X[:, 0] > 0).astype(int), np.arange(30) % 3)
    arrays = head.arrays()
    with pytest.raises(ValueError, match="seen no class"):
        LinearHead.from_arrays(arrays | {"floor": np.full((3, 2), 0.1)}, 2)
    with pytest.raises(ValueError, match="array 'floor' has values from"):
        LinearHead.from_arrays(arrays | {"floor": np.full((3, 2), 0.9)}, 2)
    with pytest.raises(ValueError, match="array 'coefficients' has values from"):
        LinearHead.from_arrays(arrays | {"coefficients": np.full((3, 2, 2), 1e300)}, 2)

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.utils import check_random_state

from pointforms.estimators.per_cloud import checked_weights
from pointforms.models.portfolio.forest import ForestHead

FOLDS = np.arange(60) % 3


def standardised(X, train):
    return ((X - X[train].mean(0)) / X[train].std(0)).astype(np.float32)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_smoothed_votes_of_scikit_learn(classes, rng):
    X, y = rng.normal(size=(60, 5)), rng.permutation(np.arange(60) % classes)
    weights = rng.choice([0.5, 1.0, 1.5], 60)
    head = ForestHead(classes, trees=20)
    out_of_fold = head.fit(X, y, FOLDS, weights=weights, random_state=4)
    seeds = check_random_state(4).randint(2**31 - 1, size=3)
    weights = checked_weights(weights, 60)
    expected = np.zeros((60, classes))
    for fold, seed in enumerate(seeds):
        train = fold != FOLDS
        mean = np.average(X[train], axis=0, weights=weights[train])
        scale = np.sqrt(np.average((X[train] - mean) ** 2, axis=0, weights=weights[train]))
        Z = ((X - mean) / scale).astype(np.float32)
        forest = ExtraTreesClassifier(20, max_features=1.0, random_state=seed)
        forest.fit(Z[train], y[train], weights[train])
        smoothed = (20 * forest.predict_proba(Z) + 1 / classes) / 21
        np.testing.assert_allclose(out_of_fold[~train], smoothed[~train], atol=1e-12)
        expected += smoothed / 3
    np.testing.assert_allclose(head.predict(X), expected, atol=1e-12)


@pytest.mark.parametrize("targets", [1, 2])
def test_numbers_are_those_of_scikit_learn(targets, rng):
    X, y = rng.normal(size=(60, 5)), rng.normal(size=(60, targets))
    head = ForestHead(None, trees=20)
    out_of_fold = head.fit(X, y, FOLDS)
    seeds = check_random_state(0).randint(2**31 - 1, size=3)
    expected = np.zeros((60, targets))
    for fold, seed in enumerate(seeds):
        train = fold != FOLDS
        Z = standardised(X, train)
        forest = ExtraTreesRegressor(20, max_features=1.0, min_samples_leaf=3, random_state=seed)
        predicted = forest.fit(Z[train], y[train].squeeze()).predict(Z).reshape(60, targets)
        np.testing.assert_allclose(out_of_fold[~train], predicted[~train], atol=1e-12)
        expected += predicted / 3
    np.testing.assert_allclose(head.predict(X), expected, atol=1e-12)


@pytest.mark.parametrize("classes", [2, None])
def test_of_many_features_the_important_ones_are_kept(classes, rng):
    X = rng.normal(size=(400, 600))
    signal = X[:, 123] + 1.5 * np.abs(X[:, 456])  # the second has no linear effect
    y = (signal > np.median(signal)).astype(int) if classes else signal[:, None]
    head = ForestHead(classes, trees=10)
    head.fit(X, y, np.arange(400) % 4)
    columns = head.arrays()["columns"]
    assert columns.shape == (4, 128)
    assert (np.diff(columns, axis=1) > 0).all()
    for kept in columns:
        assert {123, 456} <= set(kept.tolist())
    changed = X.copy()
    changed[:, np.setdiff1d(np.arange(600), columns)] += 100
    np.testing.assert_array_equal(head.predict(changed), head.predict(X))


def test_workers_do_not_change_the_result(rng):
    X, y = rng.normal(size=(60, 150)), np.arange(60) % 2
    one, two = (ForestHead(2, trees=10, n_jobs=jobs).fit(X, y, FOLDS) for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_the_seed_decides_on_the_trees(rng):
    X, y = rng.normal(size=(60, 5)), np.arange(60) % 2
    one, two = (ForestHead(2, trees=10).fit(X, y, FOLDS, random_state=s) for s in (0, 1))
    assert (one != two).any()


def test_damaged_trees_are_refused(rng):
    X, y = rng.normal(size=(60, 5)), np.arange(60) % 2
    head = ForestHead(2, trees=5)
    head.fit(X, y, FOLDS)
    arrays = head.arrays()
    for name, wrong, message in (
        ("children", np.zeros_like(arrays["children"]), "splits of larger indices"),
        ("roots", arrays["roots"] + len(arrays["children"]), "array 'roots' has values"),
        ("feature", arrays["feature"] + 4, "array 'feature' has values"),
        ("columns", arrays["columns"] + 1, "array 'columns' has values"),
        ("columns", arrays["columns"] - 1, "array 'columns' has values"),
        ("features", np.array([0], dtype=np.int32), "array 'columns' has values"),
        ("leaves", arrays["leaves"] * 2, "array 'leaves' has values"),
        ("leaves", arrays["leaves"] / 2, "do not sum to 1"),
        ("leaves", arrays["leaves"][:-1], "has values from"),
    ):
        with pytest.raises(ValueError, match=message):
            ForestHead.from_arrays(arrays | {name: wrong}, 2)


def test_the_number_of_trees_is_checked(rng):
    with pytest.raises(ValueError, match="trees=0: expected at least 1"):
        ForestHead(2, trees=0).fit(rng.normal(size=(60, 5)), np.arange(60) % 2, FOLDS)

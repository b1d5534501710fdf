from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier

from pointforms.models.portfolio import trees as module
from pointforms.models.portfolio.trees import Trees, check_references


@pytest.fixture
def Z(rng):
    return rng.normal(size=(90, 5)).astype(np.float32)


@pytest.mark.parametrize("leaf", [1, 4])
@pytest.mark.parametrize("kind", [ExtraTreesClassifier, RandomForestClassifier])
def test_classes_are_those_of_scikit_learn(Z, rng, kind, leaf, monkeypatch):
    forest = kind(13, min_samples_leaf=leaf, random_state=0).fit(Z[:60], rng.integers(0, 3, 60))
    trees = Trees.of((e.tree_, e.tree_.value[:, 0]) for e in forest.estimators_)
    np.testing.assert_allclose(trees.mean(Z), forest.predict_proba(Z), atol=1e-14)
    monkeypatch.setattr(module, "_VALUES", 100)  # few points at a time
    np.testing.assert_allclose(trees.mean(Z), forest.predict_proba(Z), atol=1e-14)


def test_numbers_are_those_of_scikit_learn(Z):
    y = np.stack([Z[:, 0], Z[:, 1] * Z[:, 2]], axis=1)
    forest = ExtraTreesRegressor(7, random_state=0).fit(Z[:60], y[:60])
    trees = Trees.of((e.tree_, e.tree_.value[:, :, 0]) for e in forest.estimators_)
    np.testing.assert_allclose(trees.mean(Z), forest.predict(Z), atol=1e-14)


def test_a_value_on_a_threshold_goes_to_the_first_child():
    trees = Trees(
        roots=np.array([0, ~2], dtype=np.int32),  # a tree of one split, and a mere leaf
        children=np.array([[~0, ~1]], dtype=np.int32),
        feature=np.array([0], dtype=np.int32),
        threshold=np.array([0.5]),
        leaves=np.array([[1.0], [3.0], [10.0]]),
    )
    Z = np.array([[0.5], [np.nextafter(np.float32(0.5), np.float32(1))]], dtype=np.float32)
    np.testing.assert_array_equal(trees.mean(Z), [[5.5], [6.5]])
    assert trees.mean(Z[:0]).shape == (0, 1)


def check(roots=(0,), children=((1, ~0), (~1, ~2)), feature=(0, 1), leaves=3, features=2):
    check_references(np.array(roots), np.array(children), np.array(feature), leaves, features)


def test_references_are_checked():
    check()
    for children in (((0, ~0), (~1, ~2)), ((1, ~0), (0, ~2)), ((1, ~0), (~1, 1))):  # cycles
        with pytest.raises(ValueError, match="expected leaves or splits of larger indices"):
            check(children=children)
    for wrong in ({"roots": (2,)}, {"roots": (~3,)}, {"children": ((1, ~0), (~1, ~3))}):
        with pytest.raises(ValueError, match="expected -3 to 1"):
            check(**wrong)
    with pytest.raises(ValueError, match="expected -3 to 1"):
        check(children=((2, ~0), (~1, ~2)))
    for feature in ((0, 2), (-1, 0)):
        with pytest.raises(ValueError, match="array 'feature' has values from"):
            check(feature=feature)

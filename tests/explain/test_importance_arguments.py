"""What `importance` is given: clear answers to what it cannot use."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import pointforms as pf
from pointforms.summaries import PooledSummaries


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    clouds = [rng.normal(size=(10, 3)) + np.array([2.0 * label, 0, 0]) for label in y]
    return pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y), clouds, y


def measured(table):
    return [row.name for row in table.rows if row.other]


@pytest.mark.parametrize(
    "pairs", [np.array([[0, 1]]), [np.array([1, 0])], [("x0", 1)], {("x1", "x0")}, ([0, 1],)]
)
def test_pairs_of_several_types(fitted, pairs):
    model, clouds, y = fitted
    assert measured(model.explain(clouds, y, pairs=pairs, repeats=1)) == ["x0 × x1"]


@pytest.mark.parametrize(
    "pairs",
    [(0, 1), ("x0", "x1"), 3, True, "best", np.array([0, 1]), np.array(3), [(0, 1, 2)], [None]],
)
def test_other_pairs_are_refused(fitted, pairs):
    model, clouds, y = fitted
    with pytest.raises(ValueError, match=r"pairs=.*expected 'top', .*such as \[\('x0', 'x1'\)\]"):
        model.explain(clouds, y, pairs=pairs, repeats=1)


@pytest.mark.parametrize("new", [False, True])
def test_the_number_of_features_is_named(fitted, new):
    model, clouds, y = fitted
    narrow = [cloud[:, :2] for cloud in clouds]
    with pytest.raises(ValueError, match="clouds have 2 features, but CloudClassifier was fitted"):
        model.explain(narrow, y, new=new)


def test_models_of_components_take_the_features_of_fit(fitted):
    _, clouds, y = fitted
    model = pf.PointFormClassifier(
        components=2, forms=2, hidden=(4,), epochs=1, neighbors=6, dimension=2, random_state=0
    ).fit(clouds, y)
    assert len(model.explain(clouds, y, pairs=None, repeats=1).feature_names) == 3


@pytest.mark.parametrize("seed", [-1, "a", 0.5])
def test_seeds_are_checked(fitted, seed):
    model, clouds, y = fitted
    with pytest.raises(ValueError, match=f"random_state={seed!r}: expected a whole number"):
        model.explain(clouds, y, random_state=seed)


def test_classifiers_without_probabilities_are_refused(fitted):
    _, clouds, y = fitted
    model = make_pipeline(PooledSummaries(), SVC())
    with pytest.raises(TypeError, match="this Pipeline is a classifier without predict_proba"):
        pf.explain.importance(model, clouds, y)


def test_a_class_is_no_estimator(fitted):
    _, clouds, y = fitted
    with pytest.raises(TypeError, match="the class CloudClassifier: expected an instance"):
        pf.explain.importance(pf.CloudClassifier, clouds, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "b"] * 12, "y has values like 'a': a regressor expects numbers"),
        ([np.nan] + [1.0] * 23, "NaN or infinite"),
        ([1.0, 2.0], r"y has shape \(2,\): expected 24 numbers"),
    ],
)
def test_numbers_of_a_regressor_are_checked(fitted, y, message):
    _, clouds, _ = fitted
    with pytest.raises(ValueError, match=message):
        pf.explain.importance(make_pipeline(PooledSummaries(), Ridge()), clouds, y)

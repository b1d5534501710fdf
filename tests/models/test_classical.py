from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from pointforms.models.classical import FeatureClassifier, classifier_of_summaries
from pointforms.models.composition import composition_classifier
from pointforms.models.distances import distance_classifier
from pointforms.models.heads.inner_folds import inner_folds
from pointforms.models.random_forms import random_forms
from pointforms.summaries import PooledSummaries

MODELS = {
    "logistic": partial(classifier_of_summaries, "logistic"),
    "forest": partial(classifier_of_summaries, "forest"),
    "svm": partial(classifier_of_summaries, "svm"),
    "random forms": lambda seed: random_forms(seed, forms=8),
    "composition": lambda seed: composition_classifier(seed, clusters=8),
    "distances": lambda seed: distance_classifier(seed, directions=16),
}


def blobs(rng: np.random.Generator, count: int, D: int = 3) -> tuple[list[np.ndarray], np.ndarray]:
    """Three classes of clouds of 4 to 2000 points that differ in place and spread."""
    y = np.arange(count) % 3
    sizes = np.where(np.arange(count) < 6, 4, rng.integers(4, 60, count))
    sizes[7] = 2000
    clouds = [c + (1 + c) * rng.normal(size=(n, D)) for c, n in zip(y, sizes, strict=True)]
    return clouds, y


@pytest.fixture(scope="module")
def data():
    return blobs(np.random.default_rng(0), 30)


@pytest.fixture(scope="module")
def fitted(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # deprecations and failures to converge
        return {name: make(0).fit(*data) for name, make in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_several_classes_of_ragged_clouds(fitted, name):
    test, y = blobs(np.random.default_rng(1), 45)
    model = fitted[name]
    probabilities = model.predict_proba(test)
    assert probabilities.shape == (45, 3)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert roc_auc_score(y, probabilities, multi_class="ovr") > 0.85
    np.testing.assert_array_equal(model.predict(test), probabilities.argmax(1))


@pytest.mark.parametrize("name", MODELS)
def test_order_of_points_does_not_matter(fitted, name, rng):
    clouds, _ = blobs(np.random.default_rng(1), 12)
    shuffled = [rng.permutation(cloud) for cloud in clouds]
    # random forms are float32
    np.testing.assert_allclose(
        fitted[name].predict_proba(shuffled), fitted[name].predict_proba(clouds), atol=1e-3
    )


@pytest.mark.parametrize("name", MODELS)
def test_an_offset_of_all_coordinates_changes_no_prediction(fitted, data, name):
    near, _ = blobs(np.random.default_rng(1), 12)
    far = MODELS[name](0).fit([cloud + 2.0**27 for cloud in data[0]], data[1])
    np.testing.assert_allclose(
        far.predict_proba([cloud + 2.0**27 for cloud in near]),
        fitted[name].predict_proba(near),
        atol=1e-3,
    )


@pytest.mark.parametrize("name", ["logistic", "random forms"])
def test_a_clone_repeats_the_fit(fitted, data, name):
    again = clone(fitted[name])
    with pytest.raises(NotFittedError):
        again.predict_proba(data[0])
    again.fit(*data)
    assert again.chosen_ == fitted[name].chosen_
    np.testing.assert_allclose(again.predict_proba(data[0]), fitted[name].predict_proba(data[0]))


@pytest.mark.parametrize("name", MODELS)
def test_another_width_is_refused(fitted, name):
    with pytest.raises(ValueError, match=r"2 features, but \w+ was fitted with 3"):
        fitted[name].predict([np.eye(2)])


def test_labels_may_be_words_and_groups_stay_together(data):
    clouds, y = data
    names = np.array(["a", "b", "c"])[y]
    groups = np.arange(30) // 2
    model = MODELS["logistic"](0).fit(clouds, names, groups=groups)
    assert set(model.predict(clouds)) <= {"a", "b", "c"}
    folds = inner_folds(y, groups, seed=0)
    assert len(folds) == 5
    for train, validation in folds:
        assert not set(groups[train]) & set(groups[validation])
        assert set(y[train]) == set(y[validation]) == {0, 1, 2}


@pytest.mark.parametrize("make", [MODELS["logistic"], MODELS["svm"]])
def test_a_single_cloud_of_a_class_leaves_nothing_to_choose_by(data, make):
    clouds, _ = data
    model = make(0).fit(clouds[:9], (np.arange(9) == 0).astype(int))
    assert model.chosen_ == {}
    np.testing.assert_allclose(model.predict_proba(clouds).sum(1), 1)


def test_errors_say_what_was_passed(data):
    clouds, y = data
    with pytest.raises(ValueError, match="y has 29 entries for 30 clouds"):
        MODELS["logistic"](0).fit(clouds, y[1:])
    with pytest.raises(ValueError, match="y has 1 class"):
        MODELS["logistic"](0).fit(clouds, np.zeros(30, dtype=int))
    with pytest.raises(ValueError, match="groups has 3 entries for 30 clouds"):
        MODELS["logistic"](0).fit(clouds, y, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="head='ridge'"):
        FeatureClassifier(features=PooledSummaries(), head="ridge").fit(clouds, y)  # type: ignore[arg-type]

"""scikit-learn's conventions, for every estimator.

scikit-learn's own `check_estimator` skips nearly all of its checks for input that is not a table.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from tests.helpers.every_estimator import (
    CLOUDS,
    GROUPS,
    all_options,
    each,
    each_kind,
    each_predictor,
    fitted,
)
from tests.helpers.tiny_estimators import (
    CLASSIFIERS,
    REGRESSORS,
    answers,
    make_quick,
    slow_besides,
    some_clouds,
    targets,
    tiny,
)

import pointforms as pf

WEIGHTS = np.linspace(1, 4, 16)

each_classifier = pytest.mark.parametrize(
    "name", slow_besides(["PointFormClassifier", "logistic-regression", "mlp"], CLASSIFIERS)
)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    make_quick(monkeypatch)


def learned(estimator):
    return {name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")}


class TestParameters:
    @each
    def test_clone_and_set_params_keep_them(self, name):
        estimator = tiny(name)
        params = estimator.get_params()
        assert all_options(clone(estimator)) == all_options(estimator)
        assert all_options(type(estimator)(**estimator.get_params(deep=False))) == all_options(
            estimator
        )
        for key, value in params.items():
            assert clone(estimator).set_params(**{key: value}).get_params()[key] is value
        with pytest.raises(ValueError, match="nonsense"):
            estimator.set_params(nonsense=1)

    @each
    def test_repr_names_the_class_and_changed_options(self, name):
        assert repr(tiny(name)).startswith(type(tiny(name)).__name__ + "(")
        assert "random_state=0" in repr(tiny(name))

    @each
    def test_copies_of_an_unfitted_estimator(self, name):
        estimator = tiny(name)
        for again in (copy.deepcopy(estimator), pickle.loads(pickle.dumps(estimator))):
            assert all_options(again) == all_options(estimator)

    @each
    def test_the_kind_is_declared(self, name):
        estimator = tiny(name)
        assert is_classifier(estimator) == (name in CLASSIFIERS)
        assert is_regressor(estimator) == (name in REGRESSORS)


class TestBeforeFit:
    @each
    def test_nothing_is_learned(self, name):
        assert learned(tiny(name)) == set()

    @each
    def test_every_method_says_so(self, name, tmp_path):
        estimator = tiny(name)
        y = targets(name)
        calls = {
            "predict": (CLOUDS,),
            "predict_proba": (CLOUDS,),
            "transform": (CLOUDS,),
            "score": (CLOUDS, y),
            "comparison_matrices": (CLOUDS,),
            "prepare_for_prediction": (CLOUDS,),
            "predict_out_of_fold": (CLOUDS,),
            "explain": (CLOUDS, y),
            "count_parameters": (),
            "get_feature_names_out": (),
            "save": (tmp_path / "model",),
        }
        present = [method for method in calls if hasattr(estimator, method)]
        assert len(present) >= 3
        assert "save" in present
        predicts = {"explain", "predict_out_of_fold", "score", "predict"}
        assert predicts <= set(present) or name == "PointFormTransformer"
        for method in present:
            with pytest.raises(NotFittedError):
                getattr(estimator, method)(*calls[method])


class TestFit:
    @each
    def test_it_changes_neither_options_nor_input(self, name):
        estimator, y = tiny(name), targets(name)
        options = all_options(estimator)
        clouds, groups, weights = copy.deepcopy((CLOUDS, GROUPS, WEIGHTS))
        given = y.copy()
        assert estimator.fit(clouds, y, groups, weights) is estimator
        assert all_options(estimator) == options
        for before, after in zip([*CLOUDS, GROUPS, WEIGHTS, given], [*clouds, groups, weights, y],
                                 strict=True):  # fmt: skip
            np.testing.assert_array_equal(before, after)
        assert estimator.n_features_in_ == 3
        assert "feature_names_in_" not in learned(estimator)

    @each
    def test_copies_of_a_fitted_estimator(self, name):
        model = fitted(name)
        for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.copy(model)):
            np.testing.assert_array_equal(answers(again, CLOUDS), answers(model, CLOUDS))
        assert learned(clone(model)) == set()

    @each_kind
    def test_a_second_fit_is_like_the_first(self, name):
        other = some_clouds(D=2)
        model = tiny(name).fit(other, targets(name))
        assert answers(model, other).shape[0] == 16
        again = model.fit(CLOUDS, targets(name), GROUPS)
        assert again.n_features_in_ == 3
        np.testing.assert_allclose(answers(again, CLOUDS), answers(fitted(name), CLOUDS))

    @each_kind
    def test_random_state(self, name):
        state, same = (
            tiny(name, random_state=np.random.RandomState(3)).fit(CLOUDS, targets(name))
            for _ in range(2)
        )
        np.testing.assert_array_equal(answers(state, CLOUDS), answers(same, CLOUDS))


class TestPredictions:
    @each
    def test_they_depend_on_the_points_of_a_cloud_alone(self, name, rng):
        model = fitted(name)
        expected = answers(model, CLOUDS)
        assert np.isfinite(expected).all()
        close = {"rtol": 1e-3, "atol": 1e-4}  # single precision, and sums in another order
        order = rng.permutation(16)
        np.testing.assert_allclose(
            answers(model, [CLOUDS[i] for i in order]), expected[order], **close
        )
        np.testing.assert_allclose(answers(model, CLOUDS[3:4]), expected[3:4], **close)
        shuffled = [cloud[rng.permutation(len(cloud))] for cloud in CLOUDS]
        np.testing.assert_allclose(answers(model, shuffled), expected, **close)

    @each_kind
    def test_bad_clouds_are_refused(self, name):
        for clouds, message in [
            ([], "clouds is empty"),
            (CLOUDS[0], "like one cloud"),
            ([[[1.0, 2.0], [3.0]]], "cloud 0 is a list of length 2 that is not a table"),
            (some_clouds(D=2), "2 features, but .* was fitted with 3"),
        ]:
            with pytest.raises(ValueError, match=message):
                answers(fitted(name), clouds)


LABELS = {
    "text": np.array(["no", "yes"])[np.arange(16) % 2],
    "a list of text": [["no", "yes"][i % 2] for i in range(16)],
    "objects": np.array(["no", "yes"], dtype=object)[np.arange(16) % 2],
    "booleans": np.arange(16) % 2 == 1,
    "other numbers": np.array([-3, 7])[np.arange(16) % 2],
    "series": pd.Series(["no", "yes"] * 8, index=range(100, 116)),
    "numbered series": pd.Series([5, 2] * 8, index=range(100, 116)),
    "categorical": pd.Categorical(["no", "yes"] * 8, categories=["yes", "no", "maybe"]),
    "nullable": pd.Series([0, 1] * 8, dtype="Int64"),
}


class TestLabels:
    @each_classifier
    @pytest.mark.parametrize("kind", LABELS)
    def test_predictions_are_labels_of_the_same_kind(self, kind, name):
        y = LABELS[kind]
        model = tiny(name, **({"epochs": 1} if "epochs" in tiny(name).get_params() else {}))
        model.fit(CLOUDS, y)
        expected = np.unique(np.asarray(y))
        assert model.classes_.tolist() == sorted(expected.tolist())
        assert all(type(a) is type(b) for a, b in zip(model.classes_.tolist(), expected.tolist(),
                                                      strict=True))  # fmt: skip
        predicted = model.predict(CLOUDS)
        assert predicted.dtype == model.classes_.dtype
        np.testing.assert_array_equal(
            predicted, model.classes_[model.predict_proba(CLOUDS).argmax(1)]
        )
        assert 0 <= model.score(CLOUDS, np.asarray(y)) <= 1


class TestOutOfFold:
    @each_predictor
    def test_training_clouds_are_predicted_by_models_without_them(self, name, tmp_path):
        members = {"members": 2} if "members" in tiny(name).get_params() else {}
        weights = np.where(np.arange(16) == 5, 0.0, 1.0)
        model = tiny(name, **members).fit(CLOUDS, targets(name), GROUPS, weights)
        found = model.predict_out_of_fold(CLOUDS)
        assert found.shape == answers(model, CLOUDS).shape
        assert np.isnan(found[5]).all()
        known = np.delete(np.arange(16), 5)
        assert np.isfinite(found[known]).all()
        assert not np.allclose(found[known], answers(model, CLOUDS)[known])
        turned = model.predict_out_of_fold([CLOUDS[i] for i in known[::-1]])
        np.testing.assert_allclose(turned, found[known[::-1]], rtol=1e-4, atol=1e-6)
        by_position = model.predict_out_of_fold([CLOUDS[i] for i in known], known)
        np.testing.assert_allclose(by_position, found[known], rtol=1e-4, atol=1e-6)
        with pytest.raises(ValueError, match="cloud 0 is not one of the 16 clouds of fit"):
            model.predict_out_of_fold([2 * cloud for cloud in CLOUDS])
        model.save(tmp_path)
        again = pf.load(tmp_path).predict_out_of_fold(CLOUDS)
        np.testing.assert_allclose(again, found, rtol=1e-5, atol=1e-6)

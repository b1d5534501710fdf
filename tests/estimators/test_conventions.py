"""scikit-learn's conventions, for every estimator.

scikit-learn's own `check_estimator` skips nearly all of its checks for input that is not a table.
"""

from __future__ import annotations

import copy
import os
import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from tests.helpers.tiny_estimators import (
    CLASSIFIERS,
    KINDS,
    NAMES,
    REGRESSORS,
    answers,
    make_quick,
    slow_besides,
    some_clouds,
    targets,
    tiny,
)

import pointforms as pf
from pointforms.models.classical import FeatureClassifier
from pointforms.models.composition import Composition
from pointforms.models.distances import DistributionVectors
from pointforms.models.hodge import HodgeFeatures
from pointforms.summaries import PooledSummaries

CLOUDS = some_clouds()
GROUPS = np.repeat(np.arange(8), 2)
WEIGHTS = np.linspace(1, 4, 16)
each = pytest.mark.parametrize("name", NAMES)
# for checks that fit many times: one estimator of each kind, and all others as slow tests
each_kind = pytest.mark.parametrize("name", slow_besides(KINDS, NAMES))
each_classifier = pytest.mark.parametrize(
    "name", slow_besides(["PointFormClassifier", "logistic-regression", "mlp"], CLASSIFIERS)
)
PREDICTORS = [name for name in NAMES if name != "PointFormTransformer"]
each_predictor = pytest.mark.parametrize("name", slow_besides(KINDS, PREDICTORS))


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    make_quick(monkeypatch)


@cache
def fitted(name):
    """Return an estimator that all tests share and none changes."""
    return tiny(name).fit(CLOUDS, targets(name), GROUPS)


def all_options(estimator):
    with config_context(print_changed_only=False):
        return repr(estimator)


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


def doubled(clouds):
    return [2 * cloud for cloud in clouds]


class TestModelSelection:
    @each_predictor
    def test_cross_validation(self, name):
        y, cv = targets(name), GroupKFold(2)
        scores = cross_val_score(tiny(name), CLOUDS, y, groups=GROUPS, cv=cv)
        assert np.isfinite(scores).all()
        method = "predict_proba" if name in CLASSIFIERS else "predict"
        predicted = cross_val_predict(tiny(name), CLOUDS, y, groups=GROUPS, cv=cv, method=method)
        train, test = next(cv.split(CLOUDS, y, GROUPS))
        model = tiny(name).fit([CLOUDS[i] for i in train], y[train])
        alone = answers(model, [CLOUDS[i] for i in test])
        np.testing.assert_allclose(predicted[test], alone, rtol=1e-5, atol=1e-6)

    @each_predictor
    def test_grid_search_with_groups(self, name):
        grid = GridSearchCV(tiny(name), {"random_state": np.array([0, 1])}, cv=GroupKFold(2))
        grid.fit(pf.Clouds.from_list(CLOUDS), targets(name), groups=GROUPS)
        assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
        assert grid.predict(CLOUDS).shape == (16,)

    @each_predictor
    def test_pipeline(self, name):
        pipe = make_pipeline(FunctionTransformer(doubled), tiny(name))
        pipe.fit(CLOUDS, targets(name))
        direct = tiny(name).fit(doubled(CLOUDS), targets(name))
        np.testing.assert_allclose(answers(pipe, CLOUDS), answers(direct, doubled(CLOUDS)))
        assert clone(pipe).set_params(functiontransformer__func=None).fit(CLOUDS, targets(name))


class TestRouting:
    @each_kind
    def test_groups_and_weights_reach_fit(self, name):
        y, step = targets(name), "model"
        given = {"groups": GROUPS, "sample_weight": WEIGHTS}
        direct = answers(tiny(name).fit(CLOUDS, y, **given), CLOUDS)
        assert not np.array_equal(direct, answers(tiny(name).fit(CLOUDS, y, GROUPS), CLOUDS))
        steps = [("double", FunctionTransformer()), (step, tiny(name))]
        named = {f"{step}__{key}": value for key, value in given.items()}
        np.testing.assert_allclose(answers(Pipeline(steps).fit(CLOUDS, y, **named), CLOUDS), direct)
        with config_context(enable_metadata_routing=True):
            steps[1][1].set_fit_request(groups=True, sample_weight=True)
            routed = Pipeline(steps).fit(CLOUDS, y, **given)
            np.testing.assert_allclose(answers(routed, CLOUDS), direct)

    @each_predictor
    def test_both_are_cut_to_the_training_clouds(self, name):
        y, cv = targets(name), GroupKFold(2)
        with config_context(enable_metadata_routing=True):
            model = tiny(name).set_fit_request(groups=True, sample_weight=True)
            model = model.set_score_request(sample_weight=False)
            given = {"groups": GROUPS, "sample_weight": WEIGHTS}
            scores = cross_val_score(model, CLOUDS, y, cv=cv, params=given)
        train, test = next(cv.split(CLOUDS, y, GROUPS))
        model = tiny(name).fit([CLOUDS[i] for i in train], y[train], GROUPS[train], WEIGHTS[train])
        assert scores[0] == pytest.approx(model.score([CLOUDS[i] for i in test], y[test]))


class TestFeatureNames:
    NAMED = pf.Clouds.from_list(CLOUDS, feature_names=["CD3", "CD4", "CD8"])

    @each_kind
    def test_names_are_kept_and_features_found_by_them(self, name):
        model = tiny(name).fit(self.NAMED, targets(name), GROUPS)
        assert model.feature_names_in_.dtype == object
        assert model.feature_names_in_.tolist() == ["CD3", "CD4", "CD8"]
        expected = answers(model, self.NAMED)
        np.testing.assert_allclose(expected, answers(fitted(name), CLOUDS), rtol=1e-6)
        other = self.NAMED.in_order(["CD8", "CD3", "CD4"])
        np.testing.assert_array_equal(answers(model, other), expected)
        if hasattr(model, "prepare"):
            np.testing.assert_array_equal(answers(model, model.prepare(other)), expected)
        np.testing.assert_allclose(answers(model, CLOUDS), expected, rtol=1e-6)  # without names
        with pytest.raises(ValueError, match="'CD19'"):
            answers(model, pf.Clouds.from_list(CLOUDS, feature_names=["CD3", "CD4", "CD19"]))
        with pytest.raises(ValueError, match=r"2 features, but .* was fitted with 3"):
            answers(model, pf.Clouds.from_list(some_clouds(D=2), feature_names=["CD3", "CD4"]))
        assert not hasattr(model.fit(CLOUDS, targets(name)), "feature_names_in_")

    @each_kind
    def test_numbered_features_have_no_names(self, name):
        model = tiny(name).fit(pf.Clouds.from_list(CLOUDS), targets(name), GROUPS)
        assert not hasattr(model, "feature_names_in_")

    @each_kind
    def test_a_model_without_names_stays_without(self, name, tmp_path):
        fitted(name).save(tmp_path / "nameless")
        assert not hasattr(pf.load(tmp_path / "nameless"), "feature_names_in_")


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
            model.predict_out_of_fold(doubled(CLOUDS))
        model.save(tmp_path)
        again = pf.load(tmp_path).predict_out_of_fold(CLOUDS)
        np.testing.assert_allclose(again, found, rtol=1e-5, atol=1e-6)


class TestSaving:
    @each
    def test_a_loaded_estimator_says_the_same(self, name, tmp_path):
        model = tiny(name).fit(TestFeatureNames.NAMED, targets(name), GROUPS)
        model.save(tmp_path / "model")
        again = pf.load(tmp_path / "model")
        assert type(again) is type(model)
        assert again.feature_names_in_.tolist() == ["CD3", "CD4", "CD8"]
        expected = answers(model, CLOUDS)
        np.testing.assert_allclose(answers(again, CLOUDS), expected, rtol=1e-6, atol=1e-9)
        other = TestFeatureNames.NAMED.in_order(["CD8", "CD3", "CD4"])
        np.testing.assert_allclose(answers(again, other), expected, rtol=1e-6, atol=1e-9)
        if name in CLASSIFIERS:
            np.testing.assert_array_equal(again.classes_, model.classes_)
        pf.save(again, tmp_path / "again")  # what was loaded can be saved
        once_more = answers(pf.load(tmp_path / "again"), CLOUDS)
        np.testing.assert_array_equal(once_more, answers(again, CLOUDS))
        assert all_options(clone(again)) == all_options(again)

    @pytest.mark.parametrize("name", slow_besides(["svm", "random-forest", "mlp"], CLASSIFIERS))
    def test_three_classes_with_text(self, name, tmp_path):
        y = np.array(["a", "b", "c"])[np.arange(16) % 3]
        model = tiny(name).fit(CLOUDS, y)
        model.save(tmp_path)
        expected = model.predict_proba(CLOUDS)
        again = pf.load(tmp_path)
        np.testing.assert_allclose(again.predict_proba(CLOUDS), expected, rtol=1e-6, atol=1e-9)
        assert again.predict(CLOUDS).tolist() == model.predict(CLOUDS).tolist()

    @each_kind
    def test_behind_preprocessing(self, name, tmp_path):
        pipe = make_pipeline(pf.preprocessing.Arcsinh(2.0), tiny(name))
        pipe.fit(TestFeatureNames.NAMED, targets(name))
        pf.save(pipe, tmp_path)
        again = pf.load(tmp_path)
        np.testing.assert_allclose(
            answers(again, CLOUDS), answers(pipe, CLOUDS), rtol=1e-6, atol=1e-9
        )

    @pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
    @pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o027, 0o640)])
    def test_files_have_the_permissions_of_the_umask(self, umask, expected, tmp_path):
        before = os.umask(umask)
        try:
            fitted("PointFormTransformer").save(tmp_path / "model")
        finally:
            os.umask(before)
        modes = {file.stat().st_mode & 0o777 for file in (tmp_path / "model").iterdir()}
        assert modes == {expected}

    def test_steps_of_others_are_refused_by_name(self, tmp_path):
        pipe = make_pipeline(tiny("PointFormTransformer"), LogisticRegression())
        pipe.fit(CLOUDS, targets("PointFormClassifier"))
        with pytest.raises(ValueError, match="its step 'logisticregression' is a LogisticRegr"):
            pf.save(pipe, tmp_path)
        with pytest.raises(NotFittedError):
            pf.save(make_pipeline(pf.preprocessing.Log(), tiny("mlp")), tmp_path)
        assert list(tmp_path.iterdir()) == []


# features of clouds that classifiers of the registry stand on
FEATURES = {
    "summaries": PooledSummaries(),
    "summaries in the frame of the cloud": PooledSummaries(frame="cloud", covariance=False),
    "composition": Composition(clusters=3, random_state=0),
    "wasserstein": DistributionVectors(directions=2, levels=4, random_state=0),
    "energy": DistributionVectors(distance="sliced-energy", directions=2, levels=4, frame="both"),
    "mmd": DistributionVectors(distance="mmd", directions=2, random_state=0, scale=None),
    "hodge": HodgeFeatures(degrees=(0, 1), max_features=20, neighbors=4, dimension=1),
    "point-forms": pf.PointFormTransformer(forms=2, neighbors=4, dimension=1, epochs=0),
}


class TestFeatures:
    @pytest.mark.parametrize("name", FEATURES)
    def test_every_feature_has_a_name(self, name):
        features = clone(FEATURES[name])
        with pytest.raises(NotFittedError):
            features.get_feature_names_out()
        values = np.asarray(features.fit(TestFeatureNames.NAMED).transform(CLOUDS))
        names = features.get_feature_names_out()
        assert len(set(names)) == len(names) == values.shape[1]
        frame = clone(features).set_output(transform="pandas").fit_transform(CLOUDS)
        assert frame.shape == values.shape

    @pytest.mark.parametrize("name", FEATURES)
    def test_a_classifier_on_them_is_saved(self, name, tmp_path):
        model = FeatureClassifier(features=clone(FEATURES[name]), random_state=0)
        model.fit(CLOUDS, np.arange(16) % 2).save(tmp_path)
        np.testing.assert_allclose(
            pf.load(tmp_path).predict_proba(CLOUDS), model.predict_proba(CLOUDS), rtol=1e-9
        )

    def test_names_of_summaries_say_what_they_are(self):
        summaries = PooledSummaries(quantiles=[0.5]).fit(TestFeatureNames.NAMED)
        names = summaries.get_feature_names_out().tolist()
        values = dict(zip(names, summaries.transform(CLOUDS).T, strict=True))
        np.testing.assert_allclose(values["mean CD4"], [c[:, 1].mean() for c in CLOUDS])
        np.testing.assert_allclose(values["quantile 0.5 CD8"], [np.median(c[:, 2]) for c in CLOUDS])
        expected = [np.cov(c.T, ddof=0)[0, 2] for c in CLOUDS]
        np.testing.assert_allclose(values["covariance CD3 CD8"], expected)


class TestTransformer:
    def test_the_output_is_kept_by_a_file(self, tmp_path):
        model = tiny("PointFormTransformer").set_output(transform="pandas").fit(CLOUDS)
        model.save(tmp_path)
        frame = pf.load(tmp_path).transform(CLOUDS)
        assert frame.columns.tolist() == model.get_feature_names_out().tolist()

    def test_a_pipeline_passes_its_output_on(self):
        pipe = make_pipeline(pf.preprocessing.Arcsinh(), tiny("PointFormTransformer"))
        frame = pipe.set_output(transform="pandas").fit(CLOUDS).transform(CLOUDS)
        assert isinstance(frame, pd.DataFrame)
        assert frame.columns.tolist() == pipe.get_feature_names_out().tolist()

    def test_features_have_names(self):
        model = fitted("PointFormTransformer")
        names = model.get_feature_names_out()
        assert names.tolist() == [f"pointformtransformer{i}" for i in range(3)]
        assert len(names) == model.transform(CLOUDS).shape[1]

    def test_output_as_a_data_frame(self):
        model = tiny("PointFormTransformer").set_output(transform="pandas")
        frame = model.fit_transform(pf.Clouds.from_list(CLOUDS), targets("PointFormTransformer"))
        assert isinstance(frame, pd.DataFrame)
        assert frame.columns.tolist() == model.get_feature_names_out().tolist()
        plain = model.set_output(transform="default").transform(CLOUDS)
        np.testing.assert_allclose(frame, plain, rtol=1e-6)

    def test_in_front_of_a_classifier(self):
        pipe = make_pipeline(tiny("PointFormTransformer"), LogisticRegression())
        y = LABELS["text"]
        assert set(pipe.fit(CLOUDS, y).predict(CLOUDS)) <= {"no", "yes"}
        assert pipe[:-1].get_feature_names_out().shape == (3,)
        assert cross_val_predict(pipe, CLOUDS, y, cv=2, method="predict_proba").shape == (16, 2)

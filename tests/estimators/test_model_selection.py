"""Every estimator in cross-validation, grid searches and pipelines of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from tests.helpers.every_estimator import CLOUDS, GROUPS, each_kind, each_predictor
from tests.helpers.tiny_estimators import CLASSIFIERS, answers, make_quick, targets, tiny

import pointforms as pf

WEIGHTS = np.linspace(1, 4, 16)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    make_quick(monkeypatch)


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

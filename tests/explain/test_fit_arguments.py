"""Groups, weights and seeds reach what is inside of pipelines and searches."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pointforms as pf
from pointforms.explain.fit_arguments import argument_for_weights, arguments_for_groups
from pointforms.summaries import PooledSummaries

SEEN: list[np.ndarray] = []


class Grouped(ClassifierMixin, BaseEstimator):
    """A classifier of means that records the groups it is given."""

    def __init__(self, slope=1.0):
        self.slope = slope

    def fit(self, clouds, y, groups=None):
        self.classes_ = np.unique(y)
        SEEN.append(groups)
        return self

    def predict_proba(self, clouds):
        p = 1 / (1 + np.exp(-self.slope * np.array([np.asarray(c)[:, 0].mean() for c in clouds])))
        return np.stack([1 - p, p], 1)

    def predict(self, clouds):
        return self.predict_proba(clouds).argmax(1)


class Around(ClassifierMixin, BaseEstimator):
    """A classifier around another that has no way to pass groups on."""

    def __init__(self, inner):
        self.inner = inner

    def fit(self, clouds, y):
        self.classes_ = np.unique(y)
        self.inner.fit(clouds, y)
        return self

    def predict_proba(self, clouds):
        return self.inner.predict_proba(clouds)


@pytest.fixture
def data():
    SEEN.clear()
    rng = np.random.default_rng(0)
    groups = np.arange(24) // 2
    y = groups % 2
    return [rng.normal(size=(6, 2)) + np.array([2.0 * k - 1, 0]) for k in y], y, groups


def explain(model, data):
    return pf.explain.importance(model, *data, pairs=None, repeats=1)


@pytest.mark.parametrize("model", [Grouped(), make_pipeline(Grouped())])
def test_the_groups_of_a_fold_are_given(model, data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explain(model, data)
    assert len(SEEN) == 2
    assert set(SEEN[0]) | set(SEEN[1]) == set(range(12))
    assert not set(SEEN[0]) & set(SEEN[1])


def test_a_search_takes_them_for_its_folds(data):
    search = GridSearchCV(Grouped(), {"slope": [1.0, 2.0]}, cv=GroupKFold(2))
    assert "refits" in explain(search, data).models
    assert "refits" in explain(make_pipeline(search), data).models


def test_estimators_without_use_for_groups_get_none(data):
    pipeline = make_pipeline(PooledSummaries(), LogisticRegression())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert explain(pipeline, data).groups == 12


def test_groups_that_are_dropped_are_not_dropped_in_silence(data):
    with pytest.warns(UserWarning, match="groups do not reach 'inner' of the Around"):
        explain(Around(Grouped()), data)
    voting = VotingClassifier([("one", Grouped()), ("two", LogisticRegression())])
    with pytest.warns(UserWarning, match="groups do not reach 'one' of the VotingClassifier"):
        assert arguments_for_groups(voting) == []


class Weighted(Grouped):
    """A classifier of means that records the weights it is given."""

    def fit(self, clouds, y, sample_weight=None):
        self.classes_ = np.unique(y)
        SEEN.append(sample_weight)
        return self


@pytest.mark.parametrize("model", [Weighted(), make_pipeline(Weighted())])
def test_refits_have_the_weights_of_their_clouds(model, data):
    clouds, y, _ = data
    weights = np.arange(1.0, 25.0)
    pf.explain.importance(model, clouds, y, pairs=None, repeats=1, sample_weight=weights)
    assert len(SEEN) == 2
    assert sorted([*SEEN[0], *SEEN[1]]) == pytest.approx(weights / weights.mean())


def test_only_the_last_step_of_a_pipeline_learns_from_weights():
    pipeline = make_pipeline(PooledSummaries(), StandardScaler(), make_pipeline(Weighted()))
    assert argument_for_weights(pipeline) == "pipeline__weighted__sample_weight"
    with pytest.raises(ValueError, match="fit of Grouped takes no weights"):
        argument_for_weights(make_pipeline(StandardScaler(), Grouped()))


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(PooledSummaries(), RandomForestClassifier(n_estimators=3)),
        pf.models.make("composition"),
    ],
    ids=["pipeline", "composition"],
)
def test_results_repeat_whatever_is_random_inside(model, data):
    tables = [explain(model, data) for _ in range(2)]
    assert tables[0].rows == tables[1].rows

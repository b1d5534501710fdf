"""Names of features: of the clouds that estimators read, and of what transformers return."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from tests.helpers.every_estimator import CLOUDS, GROUPS, NAMED, each_kind, fitted
from tests.helpers.tiny_estimators import answers, make_quick, some_clouds, targets, tiny

import pointforms as pf
from pointforms.models.classical import FeatureClassifier
from pointforms.models.composition import Composition
from pointforms.models.distances import DistributionVectors
from pointforms.models.hodge import HodgeFeatures
from pointforms.summaries import PooledSummaries


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    make_quick(monkeypatch)


class TestFeatureNames:
    @each_kind
    def test_names_are_kept_and_features_found_by_them(self, name):
        model = tiny(name).fit(NAMED, targets(name), GROUPS)
        assert model.feature_names_in_.dtype == object
        assert model.feature_names_in_.tolist() == ["CD3", "CD4", "CD8"]
        expected = answers(model, NAMED)
        np.testing.assert_allclose(expected, answers(fitted(name), CLOUDS), rtol=1e-6)
        other = NAMED.in_order(["CD8", "CD3", "CD4"])
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
        values = np.asarray(features.fit(NAMED).transform(CLOUDS))
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
        summaries = PooledSummaries(quantiles=[0.5]).fit(NAMED)
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
        y = np.where(targets("PointFormClassifier"), "yes", "no")
        assert set(pipe.fit(CLOUDS, y).predict(CLOUDS)) <= {"no", "yes"}
        assert pipe[:-1].get_feature_names_out().shape == (3,)
        assert cross_val_predict(pipe, CLOUDS, y, cv=2, method="predict_proba").shape == (16, 2)

"""Conventions that every transformer from clouds to clouds keeps."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import pointforms as pf
from pointforms.loadings import Loadings

pp = pf.preprocessing
NAMES = ["CD3", "CD4", "CD8"]
TRANSFORMERS = {
    "arcsinh": pp.Arcsinh(2.0),
    "arcsinh by name": pp.Arcsinh({"CD8": 2.0, "CD3": 7.0}),
    "log": pp.Log(),
    "log with offset": pp.Log(0.5),
    "standard": pp.Standardize(),
    "robust": pp.Standardize("robust"),
    "components": pp.PrincipalComponents(2),
    "scaled components": pp.PrincipalComponents(3, scale="standard"),
    "subsample": pp.Subsample(4),
    "median": pp.Impute(),
    "neighbors": pp.Impute("neighbors", neighbors=2),
    "select": pp.SelectFeatures(["CD8", "CD3"]),
    "exclude": pp.SelectFeatures([1], exclude=True),
}
each = pytest.mark.parametrize("name", TRANSFORMERS)


def some_clouds(count: int = 6, **options) -> pf.Clouds:
    rng = np.random.default_rng(3)
    arrays = [rng.lognormal(size=(5 + i % 3, 3)) * (1 + i % 2) for i in range(count)]
    ids = [f"tube{i}" for i in range(count)]
    return pf.Clouds.from_list(arrays, ids=ids, feature_names=NAMES)


CLOUDS = some_clouds()
LABELS = np.arange(6) % 2


def made(name):
    return clone(TRANSFORMERS[name])


def same(a: pf.Clouds, b: pf.Clouds) -> None:
    assert a.feature_names == b.feature_names
    assert a.ids == b.ids
    np.testing.assert_array_equal(a.points, b.points)
    np.testing.assert_array_equal(a.offsets, b.offsets)


@each
def test_clouds_keep_their_ids_and_get_names(name):
    transformer = made(name)
    result = transformer.fit_transform(CLOUDS)
    assert isinstance(result, pf.Clouds)
    assert result.ids == CLOUDS.ids
    assert result.feature_names == tuple(transformer.get_feature_names_out())
    assert transformer.feature_names_in_.tolist() == NAMES
    assert transformer.n_features_in_ == 3
    assert result.points.dtype == torch.float64
    single = transformer.transform(CLOUDS.to(dtype=torch.float32))
    assert single.points.dtype == torch.float32
    again = copy.deepcopy(transformer).fit(CLOUDS)
    same(again.transform(CLOUDS), result)


@each
def test_each_cloud_is_transformed_alone(name):
    transformer = made(name).fit(CLOUDS)
    whole = transformer.transform(CLOUDS)
    for i in range(len(CLOUDS)):
        np.testing.assert_array_equal(transformer.transform(CLOUDS[i : i + 1])[0], whole[i])


@each
def test_features_are_found_by_name(name):
    transformer = made(name).fit(CLOUDS)
    turned = CLOUDS.in_order(["CD8", "CD3", "CD4"])
    same(transformer.transform(turned), transformer.transform(CLOUDS))
    frames = [f"{i}" for i in range(3)]
    with pytest.raises(ValueError, match=r"CD4|CD3|features|'0'"):
        transformer.transform(pf.Clouds.from_list(CLOUDS, feature_names=frames))


@each
def test_before_fit_and_after_copies(name, tmp_path):
    transformer = made(name)
    for call in (
        lambda: transformer.transform(CLOUDS),
        transformer.get_feature_names_out,
        lambda: transformer.save(tmp_path),
        lambda: pf.save(transformer, tmp_path),
    ):
        with pytest.raises(NotFittedError):
            call()
    expected = transformer.fit_transform(CLOUDS)
    same(pickle.loads(pickle.dumps(transformer)).transform(CLOUDS), expected)
    assert repr(clone(transformer)) == repr(transformer)
    transformer.save(tmp_path / "model")
    loaded = pf.load(tmp_path / "model")
    assert type(loaded) is type(transformer)
    assert repr(loaded) == repr(transformer) or name in ("select", "exclude")  # a tuple
    same(loaded.transform(CLOUDS), expected)


@each
def test_the_output_is_clouds_whatever_is_configured(name):
    with config_context(transform_output="pandas"):
        result = made(name).set_output(transform="pandas").fit_transform(CLOUDS)
    assert isinstance(result, pf.Clouds)


@pytest.mark.parametrize("name", [n for n in TRANSFORMERS if "by name" not in n and n != "select"])
def test_clouds_without_names(name):
    arrays = [cloud.numpy() for cloud in CLOUDS]
    transformer = made(name).fit(arrays)
    assert not hasattr(transformer, "feature_names_in_")
    named = made(name).fit_transform(CLOUDS)
    np.testing.assert_array_equal(transformer.transform(arrays).points, named.points)
    with pytest.raises(ValueError, match=r"2 features, but .* was fitted with 3"):
        transformer.transform([cloud[:, :2] for cloud in arrays])


@pytest.mark.parametrize(
    "name", [n for n, t in TRANSFORMERS.items() if not isinstance(t, pp.Impute)]
)
def test_missing_values_are_refused_by_name(name):
    points = CLOUDS.points.clone()
    points[6, 1] = np.nan  # the second point of the second cloud
    transformer = made(name).fit(CLOUDS)
    with pytest.raises(ValueError, match=r"cloud 1 \('tube1'\).*point 1, feature 'CD4'.*Impute"):
        transformer.transform(replace(CLOUDS, points=points))


@pytest.mark.parametrize(
    "name", ["arcsinh", "arcsinh by name", "log", "log with offset", "standard", "robust",
             "scaled components"],
)  # fmt: skip
def test_inverses(name):
    transformer = made(name).fit(CLOUDS)
    back = transformer.inverse_transform(transformer.transform(CLOUDS))
    assert back.feature_names == CLOUDS.feature_names
    np.testing.assert_allclose(back.points, CLOUDS.points, rtol=1e-12)


@each
def test_loadings_are_kept(name):
    values = np.arange(12.0).reshape(3, 4) + 1
    loadings = Loadings(values, tuple(NAMES), ("a", "b", "c", "d"))
    result = made(name).fit_transform(replace(CLOUDS, loadings=loadings))
    assert result.loadings.feature_names == ("a", "b", "c", "d")
    assert len(result.loadings.component_names) == len(result.feature_names)


def test_a_pipeline_in_a_grid_search_and_in_a_file(tmp_path):
    forms = pf.PointFormClassifier(
        forms=2, hidden=(4,), neighbors=4, dimension=1, epochs=2, random_state=0
    )
    pipe = make_pipeline(pp.Arcsinh({"CD3": 2.0}), pp.PrincipalComponents(2), forms)
    grid = GridSearchCV(pipe, {"arcsinh__cofactor": [1.0, {"CD4": 5.0}]}, cv=2)
    grid.fit(CLOUDS, LABELS)  # the folds have the names too
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    assert pipe[:-1].fit(CLOUDS).get_feature_names_out().tolist() == ["PC1", "PC2"]
    best = grid.best_estimator_
    pf.save(best, tmp_path / "pipeline")
    loaded = pf.load(tmp_path / "pipeline")
    assert [name for name, _ in loaded.steps] == [name for name, _ in best.steps]
    np.testing.assert_array_equal(loaded.predict_proba(CLOUDS), best.predict_proba(CLOUDS))

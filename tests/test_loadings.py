"""From components back to features: loadings of models and of AnnData."""

from __future__ import annotations

import numpy as np
import pytest

import pointforms as pf
from pointforms.explain import Loadings, component_loadings

VALUES = np.array([[0.6, -0.8, 0.0], [0.0, 0.0, 2.0]])


@pytest.fixture
def loadings() -> Loadings:
    return Loadings(VALUES, ("a", "b"), ("CD3", "CD4", "CD8"))


def test_shares_sum_to_one(loadings):
    np.testing.assert_allclose(loadings.shares, [[0.36, 0.64, 0], [0, 0, 1]])
    empty = Loadings(np.zeros((1, 2)), ("a",), ("x", "y"))
    np.testing.assert_array_equal(empty.shares, 0)


def test_scores_share_out_the_importance(loadings):
    np.testing.assert_allclose(loadings.scores([2.0, 3.0]), [0.72, 1.28, 3.0])
    assert loadings.scores([2.0, 3.0]).sum() == pytest.approx(5)
    rows = loadings.table([2.0, 3.0], top=2).rows
    assert [row["feature"] for row in rows] == ["CD8", "CD4"]
    assert [row["component"] for row in rows] == ["b", "a"]
    assert rows[1]["loading"] == -0.8
    assert loadings.top(1) == {"a": [("CD4", -0.8)], "b": [("CD8", 2.0)]}


def test_negative_importances_count_as_0(loadings):
    """`explain` finds such numbers for components that a model does not use."""
    np.testing.assert_array_equal(loadings.scores([2.0, -0.01]), loadings.scores([2.0, 0.0]))
    assert loadings.table([-5.0, 1e-9]).rows[0]["component"] == "b"


@pytest.mark.parametrize(
    ("importance", "message"),
    [
        ([1.0], r"shape \(1,\): expected one number for each of the 2"),
        ([1, np.nan], "expected finite numbers"),
    ],
)
def test_other_importances_are_refused(loadings, importance, message):
    with pytest.raises(ValueError, match=message):
        loadings.scores(importance)
    with pytest.raises(ValueError, match=r"shape \(2, 3\): expected \(1, 3\)"):
        Loadings(VALUES, ("a",), ("x", "y", "z"))


def planted(rng, count: int = 12) -> pf.Clouds:
    """The first two features vary together, in different units; the third hardly at all."""
    t = rng.normal(size=(count, 20, 1))
    points = t * [1.0, 100.0, 0.0] + rng.normal(size=(count, 20, 3)) * [0.1, 10.0, 1e-3]
    return pf.Clouds.from_list(points, feature_names=["CD3", "CD4", "CD8"])


OPTIONS = {"epochs": 0, "forms": 2, "neighbors": 8, "dimension": 1, "random_state": 0}


def test_components_of_a_model_are_those_of_its_axes(rng, tmp_path):
    clouds = planted(rng)
    model = pf.PointFormTransformer(components=2, **OPTIONS).fit(clouds)
    model.save(tmp_path / "model")
    for one in (model, pf.load(tmp_path / "model")):
        found = component_loadings(one)
        assert found.feature_names == ("CD3", "CD4", "CD8")
        assert {name for name, _ in found.top(2)["component 0"]} == {"CD3", "CD4"}
        assert found.top(1)["component 1"][0][0] == "CD8"
        # the coordinates that the model works in are these sums of scaled features
        z = (clouds[0].numpy() - one.center_) / one.unit_
        np.testing.assert_allclose(one._in_units(clouds)[0], z @ found.values.T, atol=1e-12)
        np.testing.assert_allclose((found.values**2).sum(1), 1)
    nameless = pf.PointFormTransformer(components=2, **OPTIONS).fit(list(clouds))
    assert component_loadings(nameless).feature_names == ("x0", "x1", "x2")
    with pytest.raises(ValueError, match="not fitted with components"):
        component_loadings(pf.PointFormTransformer(**OPTIONS).fit(clouds))


def annotated(rng):
    anndata, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    genes = [f"gene {j}" for j in range(6)]
    obs = pd.DataFrame({"patient": np.repeat(list("abcd"), 15)}, index=[f"c{i}" for i in range(60)])
    X = rng.normal(size=(60, 6))
    data = anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=genes))
    PCs = np.zeros((6, 3))
    PCs[:4] = np.linalg.qr(rng.normal(size=(4, 3)))[0]  # two genes are not highly variable
    data.varm["PCs"] = PCs
    data.obsm["X_pca"] = X @ PCs
    return data, PCs


@pytest.mark.parametrize("from_file", [False, True])
def test_components_of_anndata_know_their_genes(from_file, rng, tmp_path):
    data, PCs = annotated(rng)
    source = data
    if from_file:
        source = tmp_path / "cells.h5ad"
        data.write_h5ad(source)
    clouds = pf.read_anndata(source, "patient", use_rep="X_pca")
    found = component_loadings(clouds=clouds)
    assert found.feature_names == ("gene 0", "gene 1", "gene 2", "gene 3")
    assert found.component_names == ("X_pca_0", "X_pca_1", "X_pca_2")
    np.testing.assert_array_equal(found.values, PCs[:4].T)
    other = clouds[[0, 2]].in_order(["X_pca_2", "X_pca_0", "X_pca_1"])
    np.testing.assert_array_equal(other.loadings.values, PCs[:4].T[[2, 0, 1]])
    assert clouds.to(dtype=clouds.points.dtype).loadings is clouds.loadings
    with pytest.raises(ValueError, match="the clouds have no loadings"):
        component_loadings(clouds=pf.read_anndata(source, "patient"))


def test_components_of_components_lead_to_genes(rng):
    data, _ = annotated(rng)
    clouds = pf.read_anndata(data, "patient", use_rep="X_pca")
    model = pf.PointFormTransformer(components=2, **OPTIONS).fit(clouds)
    found = component_loadings(model, clouds.in_order(["X_pca_2", "X_pca_0", "X_pca_1"]))
    genes = np.asarray(data.X)[:15, :4]
    expected = model._in_units(clouds[:1])[0].numpy()
    by_genes = genes @ found.values.T
    np.testing.assert_allclose(  # but for the centre
        by_genes - by_genes.mean(0), expected - expected.mean(0), atol=1e-10
    )


@pytest.mark.parametrize("PCs", [None, np.zeros((6, 2)), np.full((6, 3), np.nan)])
def test_anndata_without_fitting_loadings_is_read_all_the_same(PCs, rng):
    data, _ = annotated(rng)
    del data.varm["PCs"]
    if PCs is not None:
        data.varm["PCs"] = PCs
    assert pf.read_anndata(data, "patient", use_rep="X_pca").loadings is None

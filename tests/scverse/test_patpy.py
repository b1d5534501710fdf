"""The adapter against the real package, where patpy is installed."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import pointforms as pf
from pointforms.scverse.patpy import PointFormRepresentation

HAS_PATPY = importlib.util.find_spec("patpy") is not None
needs_patpy = pytest.mark.skipif(not HAS_PATPY, reason="patpy is not installed")


@pytest.mark.skipif(HAS_PATPY, reason="patpy is installed")
def test_the_missing_extra_is_named():
    with pytest.raises(ImportError, match=r"this needs patpy: pip install \"pointforms\[patpy\]\""):
        PointFormRepresentation(sample_key="patient")


@needs_patpy
def test_it_is_a_method_of_patpy(cells):
    import patpy.tl

    method = PointFormRepresentation("patient", cell_group_key="type")
    assert isinstance(method, patpy.tl.SampleRepresentationMethod)
    with pytest.raises(RuntimeError, match=r"Call prepare_anndata\(\) first"):
        method.calculate_distance_matrix()
    method.prepare_anndata(cells)
    distances = method.calculate_distance_matrix()
    clouds = pf.read_anndata(cells, "patient", use_rep="X_pca")
    np.testing.assert_allclose(
        distances, pf.explain.comparison_distances(method.model_, clouds), atol=1e-9
    )
    assert list(method.samples) == list(clouds.ids)
    assert method.sample_representation.shape == (12, 2 * 36)
    # distances are kept, and computed anew where that is asked for
    cells.uns[method.DISTANCES_UNS_KEY] = np.zeros((12, 12))
    assert not method.calculate_distance_matrix().any()
    np.testing.assert_allclose(method.calculate_distance_matrix(force=True), distances)


@needs_patpy
def test_patpy_evaluates_embeds_and_exports_it(cells):
    method = PointFormRepresentation("patient", cell_group_key="type", seed=0)
    method.prepare_anndata(cells)
    result = method.evaluate_representation(
        "ill", method="knn", n_neighbors=3, task="classification"
    )
    assert result["score"] > 0.8  # the classes are far apart
    assert method.embed(method="MDS", n_jobs=1).shape == (12, 2)
    samples = method.to_adata()
    assert samples.n_obs == 12
    assert method.DISTANCES_UNS_KEY in samples.obsm


@needs_patpy
@pytest.mark.parametrize("layer", [None, "X", "log"])
def test_layers_are_found_as_patpy_finds_them(cells, layer):
    cells.layers["log"] = np.log1p(cells.X)
    transformer = pf.PointFormTransformer(epochs=0, forms=2, neighbors=6, dimension=2)
    method = PointFormRepresentation("patient", layer=layer, model=transformer)
    method.prepare_anndata(cells)
    assert method.model_.n_features_in_ == 5
    assert not hasattr(transformer, "model_")


@needs_patpy
def test_a_fitted_classifier_is_used_as_it_is(cells, small):
    with pytest.raises(ValueError, match="model is a PointFormClassifier that is not fitted"):
        PointFormRepresentation("patient", model=small).prepare_anndata(cells)
    pf.tl.classify(cells, label="ill", cloud="patient", use_rep="X_pca", model=small)
    method = PointFormRepresentation("patient", model=small)
    method.prepare_anndata(cells)
    assert method.model_ is small

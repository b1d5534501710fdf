from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from pointforms.explain import embed_distances


def test_principal_coordinates_are_those_of_pca(rng):
    X = rng.normal(size=(15, 4)) * [3, 2, 1, 0.5]
    places = embed_distances(squareform(pdist(X)), dimensions=4)
    _, _, W = np.linalg.svd(X - X.mean(0), full_matrices=False)
    scores = (X - X.mean(0)) @ W.T
    np.testing.assert_allclose(np.abs(places), np.abs(scores), atol=1e-8)
    np.testing.assert_allclose(squareform(pdist(places)), squareform(pdist(X)), atol=1e-8)
    np.testing.assert_allclose(places.mean(0), 0, atol=1e-8)


def test_metric_scaling_has_less_stress(rng):
    X = rng.normal(size=(15, 5))
    D = squareform(pdist(X))

    def stress(places):
        return ((squareform(pdist(places)) - D) ** 2).sum()

    assert stress(embed_distances(D, "mds")) < stress(embed_distances(D, "pca"))


def test_missing_dimensions_are_zero():
    places = embed_distances([[0.0, 2.0], [2.0, 0.0]], dimensions=3)
    np.testing.assert_allclose(np.abs(places), [[1, 0, 0], [1, 0, 0]], atol=1e-7)


@pytest.mark.skipif(importlib.util.find_spec("umap") is None, reason="umap is not installed")
@pytest.mark.parametrize("count", [4, 12])
def test_umap(rng, count):
    D = squareform(pdist(rng.normal(size=(count, 3))))
    first, second = (embed_distances(D, "umap", random_state=1) for _ in range(2))
    assert first.shape == (count, 2)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        (np.zeros((2, 3)), r"shape \(2, 3\): expected \(N, N\)"),
        (np.zeros((1, 1)), "between 1 samples: expected at least 2"),
        ([[0, np.nan], [np.nan, 0]], "not finite"),
        ([[0, 1], [2, 0]], "not symmetric"),
        ([[1, 1], [1, 0]], "zeros on the diagonal"),
    ],
)
def test_what_are_no_distances_is_refused(distances, message):
    with pytest.raises(ValueError, match=message):
        embed_distances(distances)


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="method='tsne': expected one of 'pca', 'mds', 'umap'"):
        embed_distances([[0, 1], [1, 0]], "tsne")

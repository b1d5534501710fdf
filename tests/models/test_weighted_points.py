"""Models on clouds whose points have weights: they honour them, or say that they do not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pointforms as pf
from pointforms.models.composition import Composition
from pointforms.models.distances import DistributionVectors
from pointforms.models.hodge import HodgeFeatures


@pytest.fixture
def repeated():
    rng = np.random.default_rng(0)
    points = [rng.normal(size=(n, 2)) for n in (24, 30)]
    counts = [rng.integers(1, 5, len(c)) for c in points]
    copies = [np.repeat(c, w, 0) for c, w in zip(points, counts, strict=True)]
    return points, pf.Clouds.from_list(points, weights=counts), copies


@pytest.mark.parametrize("distance", ["sliced-wasserstein", "sliced-energy", "mmd"])
@pytest.mark.parametrize("frame", ["absolute", "cloud"])
def test_vectors_of_distributions_are_those_of_copies(repeated, distance, frame):
    points, weighted, copies = repeated
    model = DistributionVectors(distance=distance, frame=frame, random_state=0).fit(copies)
    np.testing.assert_allclose(model.transform(weighted), model.transform(copies), atol=1e-9)
    assert not np.allclose(model.transform(points), model.transform(copies), atol=1e-3)
    learned = DistributionVectors(distance=distance, frame=frame, random_state=0).fit(weighted)
    assert learned.transform(weighted).shape == model.transform(copies).shape


def test_compositions_are_those_of_copies(repeated):
    points, weighted, copies = repeated
    model = Composition(centers=[[0.0, 0.0], [1.0, 1.0]], pseudo_count=1e-9).fit(copies)
    np.testing.assert_allclose(model.transform(weighted), model.transform(copies), atol=1e-6)
    assert not np.allclose(model.transform(points), model.transform(copies), atol=1e-3)
    assert Composition(clusters=3, random_state=0).fit_transform(weighted).shape == (2, 3)


def test_hodge_features_read_weights(repeated):
    points, weighted, copies = repeated
    options = {"neighbors": 24, "dimension": 2, "degrees": (0,), "spectra": False}
    models = [HodgeFeatures(**options).fit(clouds) for clouds in (weighted, copies, points)]
    np.testing.assert_allclose(models[0].mean_, models[1].mean_)
    np.testing.assert_allclose(models[0].scale_, models[1].scale_)
    found, expected, bare = (
        model.transform(clouds)
        for model, clouds in zip(models, (weighted, copies, points), strict=True)
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)  # moments of the measure
    assert not np.allclose(found, bare, atol=1e-3)


def test_networks_say_that_they_ignore_weights(repeated):
    points, weighted, _ = repeated
    clouds = pf.Clouds.from_list(
        [*weighted, *weighted], weights=[*(c.weights for c in weighted)] * 2
    )
    model = pf.models.NeuralClassifier(network="mlp", epochs=1, random_state=0)
    y = [0, 1, 0, 1]
    with pytest.warns(UserWarning, match="mlp ignores the weights of the points") as caught:
        model.fit(clouds, y)
    assert sum("ignores" in str(one.message) for one in caught) == 1
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*ignores the weights")
        model.fit(points + points, y)

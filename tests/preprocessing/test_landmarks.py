"""Landmarks: weighted points that stand for large clouds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial import KDTree
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

import pointforms as pf
from pointforms.preprocessing import Landmarks
from pointforms.preprocessing import landmarks as module

METHODS = pytest.mark.parametrize("method", ["kmeans", "farthest"])


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(n, 2)).astype(np.float32) + 100 for n in (900, 30, 700)]
    return pf.Clouds.from_list(arrays, ["a", "b", "c"], ["u", "v"])


@METHODS
def test_landmarks_stand_for_all_points(clouds, method):
    found = Landmarks(n=40, method=method).fit_transform(clouds)
    assert found.sizes.tolist() == [40, 30, 40]
    assert [float(own.weights.sum()) for own in found] == [900, 30, 700]
    assert found.ids == clouds.ids
    assert found.feature_names == clouds.feature_names
    assert found.points.dtype == torch.float32
    assert torch.equal(found[1], clouds[1])
    assert set(found[1].weights.tolist()) == {1}
    if method == "farthest":  # points of the cloud, with the numbers of those nearest to each
        distance, _ = KDTree(clouds[0].numpy()).query(found[0].numpy())
        assert distance.max() < 1e-4
        counts = np.bincount(KDTree(found[0].numpy()).query(clouds[0].numpy())[1])
        np.testing.assert_array_equal(found[0].weights, counts)


def test_means_of_clusters_keep_the_mean(clouds):
    found = Landmarks(n=40).fit_transform(clouds.to(dtype=torch.float64))
    for landmarks, cloud in zip(found, clouds, strict=True):
        mean = landmarks.weights @ landmarks / landmarks.weights.sum()
        torch.testing.assert_close(mean, cloud.double().mean(0), rtol=1e-12, atol=0)


def test_farthest_points_cover_the_cloud(clouds):
    cloud = clouds[0].double().numpy()
    [found] = Landmarks(n=40, method="farthest").fit_transform([cloud])
    distances = torch.cdist(found, found)
    apart = distances[distances > 0].min()
    # every point is at most as far from a landmark as landmarks are from each other
    assert KDTree(found.numpy()).query(cloud)[0].max() <= apart


@METHODS
def test_weights_of_points_count(method):
    rng = np.random.default_rng(1)
    points, weights = rng.normal(size=(200, 2)), rng.integers(1, 5, 200)
    heavy = pf.Clouds.from_list([points], weights=[weights])
    [found] = Landmarks(n=20, method=method).fit_transform(heavy)
    assert float(found.weights.sum()) == weights.sum()
    if method == "kmeans":
        mean = np.average(points, 0, weights)
        np.testing.assert_allclose(np.average(found, 0, found.weights), mean)


@METHODS
def test_large_clouds_are_searched_in_part(method, monkeypatch):
    monkeypatch.setattr(module, "_CANDIDATES", 5)
    monkeypatch.setattr(module, "_BLOCK", 64)
    cloud = np.random.default_rng(2).normal(size=(1000, 3))
    [found] = Landmarks(n=20, method=method).fit_transform([cloud])
    assert len(found) == 20
    assert float(found.weights.sum()) == 1000


@METHODS
def test_landmarks_repeat_whatever_the_other_clouds(clouds, method):
    transformer = Landmarks(n=25, method=method, random_state=3).fit(clouds)
    together, alone = transformer.transform(clouds), clone(transformer).fit_transform(clouds[2:])
    assert torch.equal(together[2], alone[0])
    assert torch.equal(together[2].weights, alone[0].weights)
    other = Landmarks(n=25, method=method, random_state=4).fit_transform(clouds)
    assert not torch.equal(other[0], together[0])


@METHODS
def test_copies_of_few_points(method):
    points = np.repeat(np.eye(3), 100, 0)
    [found] = Landmarks(n=10, method=method).fit_transform([points])
    assert len(found) == 3
    assert found.weights.tolist() == [100, 100, 100]


def test_wrong_options_and_widths(clouds):
    with pytest.raises(ValueError, match="method='middle'"):
        Landmarks(method="middle").fit(clouds)
    with pytest.raises(ValueError, match="2 features"):
        Landmarks(n=5).fit([np.ones((4, 3))]).transform(clouds)


def test_landmarks_before_an_estimator():
    """Two classes that differ in the sizes of two populations, which farthest points hide."""
    rng = np.random.default_rng(4)
    y = np.arange(24) % 2
    clouds = []
    for label in y:
        far = rng.random(600) < (0.25, 0.4)[label]
        clouds.append(rng.normal(size=(600, 2)) + 6 * far[:, None])
    summaries = pf.models.make("composition", random_state=0)
    model = make_pipeline(Landmarks(n=60, method="farthest"), summaries)
    predicted = cross_val_predict(model, clouds, y, cv=3, method="predict_proba")
    assert (predicted.argmax(1) == y).mean() > 0.9
    forms = pf.PointFormClassifier(
        forms=2, hidden=(4,), epochs=2, neighbors=8, dimension=2, random_state=0
    )
    assert make_pipeline(Landmarks(n=30), forms).fit(clouds, y).predict(clouds).shape == (24,)

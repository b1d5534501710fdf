"""Estimators on clouds whose points have weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.model_selection import cross_val_predict

import pointforms as pf
from pointforms.estimators.batch_centers import learn_batch_centers, without_batches
from pointforms.estimators.fingerprints import fingerprints
from pointforms.estimators.units import Units
from pointforms.nn.frames import framed
from pointforms.nn.point_store import PointStore
from pointforms.weights import weights_of, with_weights

OPTIONS = {"forms": 3, "hidden": (8,), "epochs": 6, "neighbors": 8, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    """Clouds of one distribution whose weights differ by class."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    points = [rng.normal(size=(30, 2)) for _ in y]
    weights = [np.exp((1 if label else -1) * c[:, 0]) for label, c in zip(y, points, strict=True)]
    return points, weights, y


@pytest.fixture
def repeated():
    """Two clouds with whole weights, and the same clouds with copies."""
    rng = np.random.default_rng(1)
    clouds = [torch.from_numpy(rng.normal(size=(n, 3))) for n in (12, 9)]
    counts = [torch.from_numpy(rng.integers(1, 6, len(c))) for c in clouds]
    weighted = [with_weights(c, w.double()) for c, w in zip(clouds, counts, strict=True)]
    return weighted, [c.repeat_interleave(w, 0) for c, w in zip(clouds, counts, strict=True)]


@pytest.mark.parametrize("scale", ["standard", "isotropic"])
@pytest.mark.parametrize("components", [None, 2])
def test_units_are_those_of_copies(repeated, scale, components):
    weighted, copies = (Units.learn(clouds, scale, components) for clouds in repeated)
    torch.testing.assert_close(weighted.unit, copies.unit)
    torch.testing.assert_close(weighted.center, copies.center)
    if components:
        torch.testing.assert_close(weighted.axes, copies.axes)
    for cloud, own in zip(repeated[0], weighted.coordinates(repeated[0]), strict=True):
        assert torch.equal(weights_of(own), cloud.weights)
    for cloud, own in zip(repeated[0], weighted.scaled(repeated[0]), strict=True):
        assert torch.equal(weights_of(own), cloud.weights)


def test_frames_batches_and_moments_are_those_of_copies(repeated):
    weighted, copies = repeated
    counts = [cloud.weights.long() for cloud in weighted]
    for frame in ("cloud", "shape", "both"):
        of_weights, of_copies = framed(weighted, frame), framed(copies, frame)
        for w, c, count in zip(of_weights, of_copies, counts, strict=True):
            torch.testing.assert_close(w.repeat_interleave(count, 0), c)
    batch = np.array([0, 1])
    assert learn_batch_centers(weighted, batch)[0] == pytest.approx(
        learn_batch_centers(copies, batch)[0]
    )
    assert all(weights_of(one) is not None for one in without_batches(weighted, batch))
    for options in ({}, {"frame": "cloud"}):
        stores = [PointStore(c, torch.float64, "cpu", **options) for c in repeated]
        for one, other in zip(*(store.moments([0, 1]) for store in stores), strict=True):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("frame", ["absolute", "shape"])
def test_equal_weights_change_nothing(data, frame):
    points, _, y = data
    same = pf.Clouds.from_list(points, weights=[np.full(30, 5.0)] * len(points))
    results = []
    for clouds in (points, same):
        model = pf.PointFormClassifier(**OPTIONS, frame=frame).fit(clouds, y)
        results.append((model.predict_proba(clouds), model.comparison_matrices(clouds)))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])
    assert fingerprints(points) == fingerprints(same)


def test_weights_reach_training_folds_and_prediction(data):
    """Folds of scikit-learn take single clouds out: these carry their weights."""
    points, weights, y = data
    clouds = pf.Clouds.from_list(points, weights=weights)
    model = pf.PointFormClassifier(**OPTIONS | {"epochs": 60, "degree": (0, 1)}, dimension=2)
    predicted = cross_val_predict(model, clouds, y, cv=3)
    assert (predicted == y).mean() > 0.8
    model.fit(clouds, y)
    fields = model.prepare(clouds)
    np.testing.assert_array_equal(model.predict_proba(fields), model.predict_proba(clouds))
    assert not np.allclose(model.predict_proba(points), model.predict_proba(clouds), atol=0.05)
    refitted = pf.PointFormClassifier(**OPTIONS).fit(pf.gram_fields(clouds, neighbors=8), y)
    assert refitted.predict_proba(clouds).shape == (24, 2)


def test_fingerprints_know_weights(data):
    points, weights, y = data
    clouds = pf.Clouds.from_list(points, weights=weights)
    texts = fingerprints(clouds)
    assert not set(texts) & set(fingerprints(points))
    double = pf.Clouds.from_list(points, weights=[4 * w for w in weights])
    assert fingerprints(double) == texts
    order = np.random.default_rng(0).permutation(30)
    moved = pf.Clouds.from_list([c[order] for c in points], weights=[w[order] for w in weights])
    assert fingerprints(moved) == texts
    model = pf.PointFormClassifier(**OPTIONS).fit(clouds, y)
    assert model.training_positions(clouds).tolist() == list(range(24))
    assert set(model.training_positions(points).tolist()) == {-1}


@pytest.mark.parametrize("measure", ["uniform", "volume-normalized"])
def test_drawn_points_stand_for_the_measure(measure):
    """Means over parts of a cloud are those of the cloud, with every point of equal weight."""
    rng = np.random.default_rng(3)
    points = [rng.normal(size=(n, 2)) for n in (200, 200, 10)]
    weights = [np.exp(2 * points[0][:, 0]), None, rng.uniform(1, 2, 10)]
    clouds = pf.Clouds.from_list(points, weights=weights)
    fields = pf.gram_fields(clouds, neighbors=8, dimension=2)
    store = pf.nn.FieldStore(fields, measure, degrees=(1,), dtype=torch.float64)
    index, means, traces = torch.arange(3), [], []
    for _ in range(200):
        rows = [store.draw(b, 32, rng) for b in range(2)]
        batch = store.gather(index, torch.from_numpy(np.stack([*rows, np.arange(32)])))
        means.append(torch.einsum("bn,bnd->bd", batch.weights, batch.points))
        traces.append(batch.metrics[1].sum(1).diagonal(dim1=-2, dim2=-1).sum(-1))
    whole = store.gather(index)
    expected = torch.einsum("bn,bnd->bd", whole.weights, whole.points)
    found = torch.stack(means).mean(0)
    torch.testing.assert_close(found[[0, 2]], expected[[0, 2]], rtol=0, atol=0.05)
    expected = whole.metrics[1].sum(1).diagonal(dim1=-2, dim2=-1).sum(-1)
    found = torch.stack(traces).mean(0)
    torch.testing.assert_close(found[[0, 2]], expected[[0, 2]], rtol=0.05, atol=0)
    torch.testing.assert_close(batch.weights[0], torch.full((32,), 1 / 32).double())
    assert torch.equal(batch.weights[2, :10], whole.weights[2, :10])

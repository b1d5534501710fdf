"""Neural baselines: invariances, options, and fits that learn."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from pointforms.models import neural
from pointforms.models.neural import NETWORKS, NeuralClassifier

NEURAL = list(NETWORKS)
# Training these takes longest.
LARGE = ("pointnet", "pointnet++", "point-transformer")
MARKED = [pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in NEURAL]


def clouds_of(rng, sizes, D=3):
    return [torch.from_numpy(rng.normal(size=(n, D))) for n in sizes]


def prepared(name, clouds):
    model = NeuralClassifier(network=name, neighbors=5, dtype="float64", random_state=0)
    model.adapt(clouds)
    store = model.make_store(model.prepare(clouds))
    torch.manual_seed(0)
    return model._new_model(3).double().eval(), store


@pytest.mark.parametrize("name", NEURAL)
def test_blind_to_the_order_of_points_and_to_padding(name, rng):
    clouds = clouds_of(rng, (4, 9, 30))
    network, store = prepared(name, clouds)
    together = network(store.gather(torch.arange(3)))
    shuffled = [cloud[rng.permutation(len(cloud))] for cloud in clouds]
    _, other = prepared(name, shuffled)
    torch.testing.assert_close(network(other.gather(torch.arange(3))), together)
    alone = torch.cat([network(store.gather(torch.tensor([i]))) for i in range(3)])
    torch.testing.assert_close(alone, together)
    back = network(store.gather(torch.tensor([2, 0, 1])))
    torch.testing.assert_close(back, together[[2, 0, 1]])


@pytest.mark.parametrize("name", MARKED)
def test_overfits_sixteen_clouds(name, rng):
    """Labels at random: only memory helps."""
    clouds = [rng.normal(size=(n, 3)) + rng.normal(size=3) for n in rng.integers(6, 20, 16)]
    y = np.arange(16) % 2
    model = NeuralClassifier(
        network=name, neighbors=5, epochs=150, validation_fraction=0, patience=150, batch_size=16,
        weight_decay=0, random_state=0,
    )  # fmt: skip
    assert (model.fit(clouds, y).predict(clouds) == y).all()


@pytest.mark.parametrize("name", MARKED)
def test_learns_what_it_is_made_for(name, rng):
    """Gaussian blobs, wide against narrow in one direction, anywhere in the plane."""
    clouds, y = [], np.arange(120) % 3
    for label in y:
        shape = np.array([[1.0, 1.0], [1.0, 0.3], [0.3, 1.0]])[label]
        clouds.append(rng.normal(size=(rng.integers(20, 40), 2)) * shape)
    model = NeuralClassifier(
        network=name, neighbors=8, epochs=40, validation_fraction=0.3, random_state=0
    )
    model.fit(clouds[:90], y[:90])
    found = model.predict_proba(clouds[90:])
    assert found.shape == (30, 3)
    assert roc_auc_score(y[90:], found, multi_class="ovr") >= 0.95


@pytest.mark.parametrize("name", NEURAL)
def test_ragged_clouds_and_repeatable_fits(name, rng):
    clouds = [rng.normal(size=(n, 3)) for n in (4, 2000, 5, 40, 7, 12, 30, 9)]
    y = np.array(["a", "b", "c", "a", "b", "c", "a", "b"])
    model = clone(
        NeuralClassifier(
            network=name, epochs=1, batch_size=2, validation_fraction=0, random_state=0
        )
    )
    found = model.fit(clouds, y).predict_proba(clouds)
    assert found.shape == (8, 3)
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-6)
    small = [cloud[:9] for cloud in clouds]
    once, again = (clone(model).fit(small, y).predict_proba(small) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    with pytest.raises(ValueError, match="have 2 features"):
        model.predict_proba([rng.normal(size=(9, 2))])


@pytest.mark.parametrize("name", NEURAL)
def test_an_offset_of_all_coordinates_changes_no_prediction(name, rng):
    """Single precision would round 2^27 + x to multiples of 16."""
    near = [np.round(rng.normal(size=(12, 3)) * 2**20) / 2**20 for _ in range(16)]
    y = np.arange(16) % 2
    found = []
    for clouds in (near, [cloud + 2.0**27 for cloud in near]):
        model = NeuralClassifier(network=name, neighbors=5, epochs=1, random_state=0)
        found.append(model.fit(clouds[:12], y[:12]).predict_proba(clouds[12:]))
    np.testing.assert_allclose(found[1], found[0], atol=1e-4)


@pytest.mark.parametrize("frame", ["absolute", "cloud", "shape", "both", "batch"])
@pytest.mark.parametrize("name", NEURAL)
def test_frames(name, frame, rng):
    """Where a cloud lies matters only to frames that contain its place, and its size likewise."""
    clouds = [rng.normal(size=(10, 2)) for _ in range(12)]
    y = np.arange(12) % 2
    batch = {"batch": np.arange(12) // 6} if frame == "batch" else {}
    model = NeuralClassifier(
        network=name, frame=frame, epochs=1, learning_rate=1e-6, dtype="float64", random_state=0
    )
    model.fit(clouds, y, **batch)
    found = model.predict_proba(clouds, **batch)
    places = 3 * rng.normal(size=(12, 1, 2))
    moved = model.predict_proba([c + p for c, p in zip(clouds, places, strict=True)], **batch)
    grown = model.predict_proba([2 * (c - c.mean(0)) + c.mean(0) for c in clouds], **batch)
    assert np.allclose(moved, found, atol=1e-9) == (frame in ("cloud", "shape"))
    assert np.allclose(grown, found, atol=1e-9) == (frame == "shape")


def test_graphs_are_shared(rng):
    clouds = [rng.normal(size=(10, 2)) for _ in range(12)]
    y = np.arange(12) % 2
    graphs = (
        NeuralClassifier(network="gcn", epochs=1, random_state=0).fit(clouds, y).prepare(clouds)
    )
    assert all(
        a is b for a, b in zip(NeuralClassifier(network="gin").prepare(graphs), graphs, strict=True)
    )
    model = NeuralClassifier(network="mlp", epochs=1, random_state=0).fit(graphs, y)
    assert model.predict(graphs).shape == (12,)


@pytest.mark.slow
def test_many_fits_train_together(rng):
    """Networks on bare points stack as point-forms do."""
    from pointforms.estimators import cross_fit

    clouds = [rng.normal(size=(10, 2)) for _ in range(24)]
    y, folds = np.arange(24) % 2, np.arange(24) // 12
    for name in ("mlp", "set-transformer", "pointnet"):
        model = NeuralClassifier(network=name, epochs=2, dtype="float64", batch_size=8)
        found = [cross_fit(model, clouds, y, folds, (0, 1), together=t) for t in (True, False)]
        np.testing.assert_allclose(
            found[0].probabilities, found[1].probabilities, rtol=0, atol=1e-5
        )


def test_wrong_options(rng):
    clouds = [rng.normal(size=(10, 2)) for _ in range(4)]
    with pytest.raises(ValueError, match="network='resnet': expected one of"):
        NeuralClassifier(network="resnet").fit(clouds, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="neighbors=0"):
        NeuralClassifier(network="gcn", neighbors=0).fit(clouds, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="points_per_epoch"):
        NeuralClassifier(network="gcn", points_per_epoch=5).fit(clouds, [0, 1, 0, 1])


def test_options_of_graph_networks_are_checked_without_importing_their_library(monkeypatch):
    monkeypatch.setattr(neural, "need", lambda *_: pytest.fail("nothing is needed to check"))
    monkeypatch.setattr(neural, "resolve_name", lambda *_: pytest.fail("nor imported"))
    NeuralClassifier(network="gcn").check_options()
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(ImportError, match=r"pointforms\[graph\]"):
        NeuralClassifier(network="gcn").check_options()

"""Neural baselines: the paper's sizes, invariances, and equality with PyTorch Geometric."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import pointforms as pf
from pointforms import models
from pointforms.models.batches import GraphStore
from pointforms.models.graph_networks import GCN, GIN, GraphSAGE, GraphTransformer
from pointforms.models.neighbor_graphs import cloud_graphs
from pointforms.models.neural import NETWORKS, NeuralClassifier

NEURAL = list(NETWORKS)

# D = 12 and 2 classes, D = 45 and 7 classes
PAPER = {
    "mlp": (26_562, 31_111),
    "gcn": (18_434, 23_303),
    "gin": (18_436, 23_305),
    "graphsage": (36_354, 45_447),
    "graph-transformer": (155_522, 173_063),
    "tdl": (18_946, 23_815),
}


@pytest.mark.parametrize("name", list(PAPER))
def test_sizes_are_the_papers(name):
    found = [models.count_parameters(name, D, C) for D, C in ((12, 2), (45, 7))]
    assert tuple(found) == PAPER[name]


@pytest.mark.parametrize(
    ("name", "paper"),
    [("pointnet", 1_465_666), ("pointnet++", 1_465_666), ("point-transformer", 2_154_882)],
)
def test_large_networks_are_in_the_papers_class(name, paper):
    assert models.count_parameters(name, 12, 2) == pytest.approx(paper, rel=0.2)


def clouds_of(rng, sizes, D=3):
    return [torch.from_numpy(rng.normal(size=(n, D))) for n in sizes]


def prepared(name, clouds):
    model = NeuralClassifier(network=name, neighbors=5, dtype="float64", random_state=0)
    model.n_features_in_ = clouds[0].shape[1]
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


@pytest.mark.parametrize(("network", "plain"), [(GCN, {}), (GIN, {}), (GraphSAGE, {})])
def test_convolutions_equal_those_over_edges(network, plain, rng):
    """Sparse products with a prepared adjacency, against the library's own message passing."""
    from torch_geometric.nn import GCNConv, SAGEConv

    store = GraphStore(cloud_graphs(clouds_of(rng, (6, 15)), 4), torch.float64, "cpu")
    batch = store.gather(torch.arange(2))
    model = network(3, 2).double()
    x = batch.points.flatten(0, 1)
    found = model.first(x, batch.adjacency(model.weights))
    conv = model.first
    if network is not GIN:
        conv = (GCNConv if network is GCN else SAGEConv)(3, 128).double()
        conv.load_state_dict(model.first.state_dict())
    expected = conv(x, batch.edge_index())
    real = batch.real.flatten().bool()
    torch.testing.assert_close(found[real], expected[real])


def test_dense_attention_equals_that_over_edges(rng, monkeypatch):
    import pointforms.models.graph_networks as module

    store = GraphStore(cloud_graphs(clouds_of(rng, (1, 6, 15)), 4), torch.float64, "cpu")
    batch = store.gather(torch.arange(3))
    model = GraphTransformer(3, 2).double()
    dense = model(batch)
    monkeypatch.setattr(module, "_DENSE", 0)
    torch.testing.assert_close(model(batch), dense)


def test_vector_attention_equals_that_over_edges(rng):
    from torch_geometric.nn import PointTransformerConv

    from pointforms.models.hierarchical_networks import _Block
    from pointforms.models.pyramids import PyramidStore, cloud_pyramids

    pyramids = cloud_pyramids(clouds_of(rng, (3, 6, 15)), (0.5,), 4)
    batch = PyramidStore(pyramids, torch.float64, "cpu").gather(torch.arange(3))
    level = batch.levels[1]
    x = batch.points.flatten(0, 1)[level.centres]
    ours = _Block(3, 8).double().attention
    plain = PointTransformerConv(8, 8, ours.pos_nn, ours.attn_nn, add_self_loops=False).double()
    plain.load_state_dict(ours.state_dict())
    h = torch.randn(len(x), 8, dtype=torch.float64)
    owners = torch.arange(len(x)).unsqueeze(1).expand_as(level.beside)
    edges = torch.stack([level.beside[level.has_beside], owners[level.has_beside]])
    real = level.real.flatten().bool()
    torch.testing.assert_close(ours(h, x, level)[real], plain(h, x, edges)[real])


def test_pyramids_hold_far_points_and_their_neighbours(rng):
    from pointforms.models.pyramids import cloud_pyramids, farthest_points

    (cloud,) = clouds_of(rng, (40,))
    X = cloud.numpy()
    chosen = farthest_points(X, 10)
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    for i in range(1, 10):  # each is the farthest from all before it
        assert distance[chosen[:i]].min(0).argmax() == chosen[i]
    order = rng.permutation(40)
    np.testing.assert_array_equal(X[order][farthest_points(X[order], 10)], X[chosen])
    (pyramid,) = cloud_pyramids([cloud], (0.25, 0.5), 4)
    base, middle, top = (level.numpy() for level in pyramid.levels)
    assert [len(level) for level in (base, middle, top)] == [40, 10, 5]
    np.testing.assert_array_equal(middle[:, 0], chosen)
    np.testing.assert_array_equal(middle[:, 1:5], distance[chosen].argsort(1)[:, :4])
    among = distance[np.ix_(chosen, chosen)]
    np.testing.assert_array_equal(middle[:, 5:], among.argsort(1)[:, :4])
    np.testing.assert_array_equal(top[:, 1:5], among[top[:, 0]].argsort(1)[:, :4])
    with pytest.raises(ValueError, match="the pyramids have 3 levels, the network 5"):
        NeuralClassifier(network="point-transformer").prepare([pyramid])


def test_graphs_hold_nearest_neighbours(rng):
    (cloud,) = clouds_of(rng, (20,))
    (graph,) = cloud_graphs([cloud], 3)
    distance = torch.cdist(cloud, cloud)
    near = distance.argsort(1)[:, :4]
    expected = {(i, int(j)) for i in range(20) for j in near[i]}
    expected |= {(j, i) for i, j in expected}
    owners = np.repeat(np.arange(20), np.diff(graph.starts))
    assert set(zip(owners.tolist(), graph.neighbors.tolist(), strict=True)) == expected
    assert {tuple(e) for e in graph.edges().tolist()} == {e for e in expected if e[0] < e[1]}


@pytest.mark.parametrize("name", NEURAL)
def test_overfits_sixteen_clouds(name, rng):
    """Labels at random: only memory helps."""
    clouds = [rng.normal(size=(n, 3)) + rng.normal(size=3) for n in rng.integers(6, 20, 16)]
    y = np.arange(16) % 2
    model = NeuralClassifier(
        network=name, neighbors=5, epochs=150, validation_fraction=0, patience=150, batch_size=16,
        weight_decay=0, random_state=0,
    )  # fmt: skip
    assert (model.fit(clouds, y).predict(clouds) == y).all()


@pytest.mark.parametrize("name", NEURAL)
def test_learns_what_it_is_made_for(name, rng):
    """Gaussian blobs, wide against narrow in one direction, anywhere in the plane."""
    clouds, y = [], np.arange(120) % 3
    for label in y:
        shape = np.array([[1.0, 1.0], [1.0, 0.3], [0.3, 1.0]])[label]
        clouds.append(rng.normal(size=(rng.integers(20, 40), 2)) * shape)
    model = NeuralClassifier(network=name, neighbors=8, epochs=40, random_state=0)
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


def test_graphs_are_shared(rng):
    clouds = [rng.normal(size=(10, 2)) for _ in range(12)]
    graphs = NeuralClassifier(network="gcn").prepare(clouds)
    assert all(
        a is b for a, b in zip(NeuralClassifier(network="gin").prepare(graphs), graphs, strict=True)
    )
    model = NeuralClassifier(network="mlp", epochs=1, random_state=0).fit(graphs, np.arange(12) % 2)
    assert model.predict(graphs).shape == (12,)


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
    with pytest.raises(ValueError, match="no model 'resnet': expected one of 'npf-tri-1'"):
        models.make("resnet")
    with pytest.raises(ValueError, match="points_per_epoch"):
        NeuralClassifier(network="gcn", points_per_epoch=5).fit(clouds, [0, 1, 0, 1])


def test_every_model_can_be_made():
    for name in models.names():
        assert hasattr(models.make(name, random_state=0), "predict_proba")


def test_tangents_are_learned_from_edges():
    """circles-vs-lines needs directions, which edges have: the simplicial network finds them."""
    task = pf.tasks.load("circles-vs-lines", clouds=120, points=48)
    train, test = np.flatnonzero(task.folds != 0), np.flatnonzero(task.folds == 0)
    model = models.make("tdl", random_state=0, epochs=30)
    model.fit([task.clouds[i] for i in train], task.labels[train], task.groups[train])
    found = model.predict_proba([task.clouds[i] for i in test])[:, 1]
    assert roc_auc_score(task.labels[test], found) >= 0.95

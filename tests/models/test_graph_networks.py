"""Graph networks equal those of PyTorch Geometric over edges."""

from __future__ import annotations

import copy

import pytest
import torch

from pointforms.models.batches import GraphStore
from pointforms.models.graph_networks import (
    GCN,
    GIN,
    DeepGIN,
    GraphSAGE,
    GraphTransformer,
    aggregation,
)
from pointforms.models.neighbor_graphs import cloud_graphs


def clouds_of(rng, sizes, D=3):
    return [torch.from_numpy(rng.normal(size=(n, D))) for n in sizes]


@pytest.mark.parametrize("network", [GCN, GIN, GraphSAGE])
def test_convolutions_equal_those_over_edges(network, rng):
    """Sparse products with a prepared adjacency, against the library's own message passing."""
    from torch_geometric.nn import GCNConv

    store = GraphStore(cloud_graphs(clouds_of(rng, (6, 15)), 4), torch.float64, "cpu")
    batch = store.gather(torch.arange(2))
    model = network(3, 2).double()
    x, real = batch.points.flatten(0, 1), batch.real.flatten().bool()
    inner = torch.randn(len(x), 128, dtype=torch.float64, requires_grad=True)
    for layer, h in ((model.first, x), (model.second, inner)):
        conv = copy.deepcopy(layer)
        if network is GCN:  # normalised by the library itself
            conv = GCNConv(layer.in_channels, layer.out_channels).double()
            conv.load_state_dict(layer.state_dict())
        expected = conv(h, batch.edge_index())
        found = model.convolved(layer, h, aggregation(batch, model.weights))
        torch.testing.assert_close(found[real], expected[real])
    weights = torch.randn_like(found) * real.unsqueeze(1)
    for ours, other in zip(
        torch.autograd.grad((weights * found).sum(), [inner, *layer.parameters()]),
        torch.autograd.grad((weights * expected).sum(), [inner, *conv.parameters()]),
        strict=True,
    ):
        torch.testing.assert_close(ours, other)


def test_dense_attention_equals_that_over_edges(rng, monkeypatch):
    import pointforms.models.graph_networks as module

    store = GraphStore(cloud_graphs(clouds_of(rng, (1, 6, 15)), 4), torch.float64, "cpu")
    batch = store.gather(torch.arange(3))
    model = GraphTransformer(3, 2).double()
    dense = model(batch)
    monkeypatch.setattr(module, "_DENSE", 0)
    torch.testing.assert_close(model(batch), dense)


def test_deep_gin_is_the_published_network_over_edges(rng):
    """Messages of PyTorch Geometric, and a readout of every layer."""
    from torch_geometric.nn import GINConv

    store = GraphStore(cloud_graphs(clouds_of(rng, (6, 15)), 4), torch.float64, "cpu")
    batch = store.gather(torch.arange(2))
    model = DeepGIN(3, 2, hidden=8, layers=2).double().eval()
    torch.nn.init.normal_(model.epsilon)
    h, edges = batch.points.flatten(0, 1), batch.edge_index()
    layers = [h]
    for epsilon, update in zip(model.epsilon, model.updates, strict=True):
        message = GINConv(torch.nn.Identity(), eps=epsilon.item()).double()(layers[-1], edges)
        for linear in update.maps:  # norms of a network that has not been trained do nothing
            message = torch.relu(linear(message))
        layers.append(message)
    for cloud, n in enumerate((6, 15)):
        pooled = [layer.view(2, 15, -1)[cloud, :n].mean(0) for layer in layers]
        expected = sum(head(mean) for head, mean in zip(model.heads, pooled, strict=True))
        torch.testing.assert_close(model(batch)[cloud], expected, rtol=1e-4, atol=1e-4)

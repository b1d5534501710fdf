"""PointNet++ and PointTransformer equal slow references, layer by layer and cloud by cloud."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch

pytest.importorskip("torch_geometric")

from torch_geometric.nn import PointTransformerConv

from pointforms.models.hierarchical_networks import PointNetPlusPlus, PointTransformer
from pointforms.models.pyramids import PyramidStore, cloud_pyramids

SIZES = (3, 70, 15, 1, 40, 22)


def some_batch(rng, network, sizes):
    clouds = [torch.from_numpy(rng.normal(size=(n, 3))) for n in sizes]
    if len(clouds[1]) > 10:
        clouds[1][-1] = clouds[1][0]  # a point twice: several neighbours are largest
    pyramids = cloud_pyramids(clouds, network.ratios, network.neighbors)
    return pyramids, PyramidStore(pyramids, torch.float64, "cpu").gather(torch.arange(len(sizes)))


def varied(network):
    """Give all parameters random values, some of the gains negative ones."""
    torch.manual_seed(0)
    for parameter in network.parameters():
        parameter.data.normal_(std=1 / max(parameter.shape[-1], 4) ** 0.5)
    network.mean.normal_()
    network.scale.uniform_(0.5, 2)
    return network.double()


def layers(mlp, h):
    for linear, norm in zip(mlp.maps, mlp.norms, strict=True):
        h = torch.relu(norm(linear(h)))
    return h


def nested(pyramids, network):
    """Yield (points, neighbours below, neighbours beside) by level and cloud."""
    points = [network.standardized(one.points) for one in pyramids]
    for level in range(len(pyramids[0].levels)):
        tables = [one.levels[level] for one in pyramids]
        k = (tables[0].shape[1] - 1) // 2
        before = points
        points = [x[t[:, 0]] for x, t in zip(points, tables, strict=True)]
        below = [[row[row >= 0] for row in t[:, 1 : 1 + k]] for t in tables]
        beside = [[row[row >= 0] for row in t[:, 1 + k :]] for t in tables]
        yield before, points, below, beside


def plain_plus_plus(network, pyramids):
    features = [torch.zeros(len(one.points), 0).double() for one in pyramids]
    for l, (before, points, below, _) in enumerate(nested(pyramids, network)):
        if l == 0:
            continue
        groups = [
            torch.cat([x[near] - centre, h[near]], 1)
            for x, h, centres, lists in zip(before, features, points, below, strict=True)
            for centre, near in zip(centres, lists, strict=True)
        ]
        mapped = layers(network.abstractions[l - 1], torch.cat(groups))
        pooled = [group.amax(0) for group in mapped.split([len(g) for g in groups])]
        features = torch.stack(pooled).split([len(x) for x in points])
    joined = [torch.cat([x, h], 1) for x, h in zip(points, features, strict=True)]
    mapped = layers(network.whole, torch.cat(joined))
    h = torch.stack([one.amax(0) for one in mapped.split([len(x) for x in points])])
    for linear, norm in zip(network.maps, network.norms, strict=True):
        h = torch.relu(norm(linear(h)))
    return network.last(h)


def plain_transformer(network, pyramids):
    lower = []
    for l, (_, points, below, beside) in enumerate(nested(pyramids, network)):
        sizes = [len(x) for x in points]
        if l == 0:
            features = layers(network.lift, torch.cat(points))
        else:
            mapped = layers(network.down[l - 1], torch.cat(features)).split(lower)
            features = torch.stack(
                [h[near].amax(0) for h, lists in zip(mapped, below, strict=True) for near in lists]
            )
        block = network.blocks[l]
        ours = block.attention
        plain = PointTransformerConv(ours.in_channels, ours.out_channels, add_self_loops=False)
        for name, layer in ours.named_children():
            setattr(plain, name, layer)
        found = []
        for h, x, lists in zip(features.split(sizes), points, beside, strict=True):
            targets = torch.arange(len(x)).repeat_interleave(torch.tensor([len(n) for n in lists]))
            edges = torch.stack([torch.cat(lists), targets])
            attended = plain(torch.relu(block.enter(h)), x, edges)
            found.append(torch.relu(h + block.leave(attended)))
        features, lower = found, sizes
    return network.head(torch.stack([h.mean(0) for h in features]))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("sizes", [SIZES, (20,) * 9, (9, 4)])
@pytest.mark.parametrize(
    ("network", "plain"),
    [(PointNetPlusPlus, plain_plus_plus), (PointTransformer, plain_transformer)],
)
def test_outputs_gradients_and_averages_are_those_of_the_slow_reference(
    network, plain, sizes, training, rng
):
    fast = varied(network(3, 2)).train(training)
    slow = copy.deepcopy(fast)
    pyramids, batch = some_batch(rng, network, sizes)
    found, expected = fast(batch), plain(slow, pyramids)
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(found)
    gradients = [
        torch.autograd.grad((weights * out).sum(), list(one.parameters()), materialize_grads=True)
        for out, one in ((found, fast), (expected, slow))
    ]
    for (name, _), ours, other in zip(fast.named_parameters(), *gradients, strict=True):
        size = other.abs().max().clamp_min(1e-3)  # biases before a normalisation have no gradient
        torch.testing.assert_close(ours / size, other / size, atol=1e-7, rtol=1e-5, msg=name)
    for ours, other in zip(fast.buffers(), slow.buffers(), strict=True):
        torch.testing.assert_close(ours, other)


def test_attention_passes_gradients_to_positions(rng):
    network = varied(PointTransformer(3, 2)).eval()
    _, batch = some_batch(rng, PointTransformer, (5, 18))
    points = batch.points.clone().requires_grad_()
    (found,) = torch.autograd.grad((network(replace(batch, points=points)) ** 2).sum(), points)
    step = 1e-5 * torch.randn_like(points)
    with torch.no_grad():
        ahead, behind = (
            (network(replace(batch, points=batch.points + sign * step)) ** 2).sum()
            for sign in (1, -1)
        )
    torch.testing.assert_close((found * step).sum(), (ahead - behind) / 2, rtol=1e-4, atol=0)


def test_batches_of_pyramids_are_not_filled_up(rng):
    network = varied(PointNetPlusPlus(3, 2))
    _, batch = some_batch(rng, PointNetPlusPlus, (5, 18))
    with pytest.raises(ValueError, match="counts: expected None"):
        network(batch, torch.ones(2))

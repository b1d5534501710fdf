"""Networks on bare points: what pooling does."""

from __future__ import annotations

import torch

from pointforms.models.batches import CloudBatch
from pointforms.models.layers import mean_pool
from pointforms.models.point_networks import AttentionMIL


def test_gated_attention_is_the_published_formula(rng):
    network = AttentionMIL(3, 2, hidden=8, attention=4).double()
    h, real = torch.from_numpy(rng.normal(size=(2, 5, 8))), torch.ones(2, 5).double()
    real[1, 3:] = 0
    found = network.attention(h, real)
    V, U, w = network.content, network.gate, network.score.weight[0]
    for b, n in ((0, 5), (1, 3)):
        scores = torch.stack(
            [
                w @ (torch.tanh(V.weight @ x + V.bias) * torch.sigmoid(U.weight @ x + U.bias))
                for x in h[b, :n]
            ]
        )
        torch.testing.assert_close(found[b, :n], scores.exp() / scores.exp().sum())
        assert not found[b, n:].any()


def test_attention_without_scores_is_the_mean(rng):
    network = AttentionMIL(3, 2).double()
    torch.nn.init.zeros_(network.score.weight)
    points, real = torch.from_numpy(rng.normal(size=(2, 5, 3))), torch.ones(2, 5).double()
    real[0, 2:] = 0
    pooled = mean_pool(network.points(points), real)
    torch.testing.assert_close(network(CloudBatch(points, real)), network.head(pooled))

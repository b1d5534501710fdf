"""Networks on bare points: MLP with mean pooling, two kinds of attention pooling, PointNet."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pointforms.models.batches import CloudBatch
from pointforms.models.layers import SharedMLP, Standardized, mean_pool
from pointforms.nn.network import FeatureNorm


class MLP(Standardized):
    """D -> 128 -> 128 for every point, the mean, 128 -> 64 -> classes."""

    def __init__(self, features: int, outputs: int, hidden: int = 128) -> None:
        super().__init__(features)
        self.points = nn.Sequential(
            nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.head = nn.Sequential(
            nn.Linear(hidden, hidden // 2), nn.ReLU(), nn.Linear(hidden // 2, outputs)
        )

    def forward(self, batch: CloudBatch, counts: Tensor | None = None) -> Tensor:
        h = self.points(self.standardized(batch.points))
        out: Tensor = self.head(mean_pool(h, batch.real))
        return out


class AttentionMIL(Standardized):
    """Multiple-instance learning with gated attention (Ilse and others, 2018).

    A cloud is a bag of instances h_i = f(x_i), which pool to Σ_i a_i h_i with weights

        a_i ∝ exp(w · (tanh(V h_i) ⊙ sigmoid(U h_i))).

    The weights say on which points a decision rests.
    """

    def __init__(self, features: int, outputs: int, hidden: int = 128, attention: int = 64) -> None:
        super().__init__(features)
        self.points = nn.Sequential(
            nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.content, self.gate = nn.Linear(hidden, attention), nn.Linear(hidden, attention)
        self.score = nn.Linear(attention, 1, bias=False)
        self.head = nn.Linear(hidden, outputs)

    def forward(self, batch: CloudBatch, counts: Tensor | None = None) -> Tensor:
        h = self.points(self.standardized(batch.points))
        out: Tensor = self.head((self.attention(h, batch.real).unsqueeze(-1) * h).sum(-2))
        return out

    def attention(self, h: Tensor, real: Tensor) -> Tensor:
        """Return the weight of each point: h (B, n, H) and real (B, n) to (B, n)."""
        gated = torch.tanh(self.content(h)) * torch.sigmoid(self.gate(h))
        scores = self.score(gated).squeeze(-1).masked_fill(real == 0, -torch.inf)
        weights: Tensor = scores.softmax(-1)
        return weights


class _SetAttention(nn.Module):
    """A block of a Set Transformer: queries attend to keys, then a map of every position."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.merge = nn.Linear(width, width), nn.Linear(width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, queries: Tensor, keys: Tensor, real: Tensor) -> Tensor:
        """Map queries (B, m, H), keys (B, n, H) and real (B, n) to (B, m, H)."""

        def split(t: Tensor) -> Tensor:
            heads: Tensor = t.unflatten(-1, (self.heads, -1)).transpose(-2, -3)
            return heads

        q, k, v = split(self.query(queries)), split(self.key(keys)), split(self.value(keys))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = scores.masked_fill(real[..., None, None, :] == 0, -torch.inf)
        seen = (scores.softmax(-1) @ v).transpose(-2, -3).flatten(-2)
        h = self.first(queries + seen)
        merged: Tensor = self.second(h + torch.relu(self.merge(h)))
        return merged


class SetTransformer(Standardized):
    """Deep sets with attention: induced self-attention, then pooling by a learned query.

    Lee and others, "Set Transformer" (2019): points attend to a few learned inducing points that
    have attended to them, so that the cost is linear in the size of a cloud.
    """

    def __init__(
        self, features: int, outputs: int, hidden: int = 64, heads: int = 4, inducing: int = 16
    ) -> None:
        super().__init__(features)
        self.lift = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.inducing = nn.Parameter(torch.randn(inducing, hidden) / hidden**0.5)
        self.gather, self.spread = _SetAttention(hidden, heads), _SetAttention(hidden, heads)
        self.seed = nn.Parameter(torch.randn(1, hidden) / hidden**0.5)
        self.pool = _SetAttention(hidden, heads)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, outputs))

    def forward(self, batch: CloudBatch, counts: Tensor | None = None) -> Tensor:
        h, real = self.lift(self.standardized(batch.points)), batch.real
        inducing = self.inducing.expand(len(h), -1, -1)
        induced = self.gather(inducing, h, real)
        h = self.spread(h, induced, torch.ones_like(induced[..., 0]))
        pooled = self.pool(self.seed.expand(len(h), -1, -1), h, real).squeeze(-2)
        out: Tensor = self.head(pooled)
        return out


class _Transform(nn.Module):
    """PointNet's T-net: one matrix per cloud, initially the identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.points = SharedMLP((width, 64, 128, 512))
        self.inner, self.norm = nn.Linear(512, 256), FeatureNorm(256)
        self.matrix = nn.Linear(256, width * width)
        nn.init.zeros_(self.matrix.weight)
        nn.init.zeros_(self.matrix.bias)

    def forward(self, h: Tensor, real: Tensor, counts: Tensor | None) -> Tensor:
        pooled = self.points.pooled(h, real, real)
        entries = self.matrix(torch.relu(self.norm(self.inner(pooled), counts)))
        identity = torch.eye(self.width, dtype=h.dtype, device=h.device)
        moved: Tensor = h @ (entries.unflatten(-1, (self.width, self.width)) + identity)
        return moved


class PointNet(Standardized):
    """PointNet with input and feature transforms (Qi and others, 2017), in R^D."""

    def __init__(self, features: int, outputs: int) -> None:
        super().__init__(features)
        self.input = _Transform(features)
        self.first = SharedMLP((features, 32))
        self.feature = _Transform(32)
        self.second = SharedMLP((32, 64, 128, 1024))
        self.maps = nn.ModuleList([nn.Linear(1024, 512), nn.Linear(512, 256)])
        self.norms = nn.ModuleList([FeatureNorm(512), FeatureNorm(256)])
        self.last = nn.Linear(256, outputs)

    def forward(self, batch: CloudBatch, counts: Tensor | None = None) -> Tensor:
        real = batch.real if counts is None else batch.real * counts[:, None]
        # clouds that fill up a batch do not count, but need a point to pool
        shown = batch.real
        h = self.input(self.standardized(batch.points), shown, counts)
        h = self.feature(self.first(h, real), shown, counts)
        h = self.second.pooled(h, real, shown)
        for linear, norm in zip(self.maps, self.norms, strict=True):
            h = torch.relu(norm(linear(h), counts))
        out: Tensor = self.last(h)
        return out

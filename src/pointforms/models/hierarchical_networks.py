"""Networks on the pyramids of clouds: PointNet++ and PointTransformer."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch_geometric.nn import PointTransformerConv

from pointforms.models.layers import SharedMLP, Standardized, mean_pool
from pointforms.models.pyramids import Level, PyramidBatch
from pointforms.nn.network import FeatureNorm


def _take(h: Tensor, places: Tensor) -> Tensor:
    """Return rows of h (N, H) at places (...): (..., H). Faster to differentiate than indexing."""
    return h.index_select(0, places.flatten()).view(*places.shape, h.shape[-1])


def _counted(real: Tensor, counts: Tensor | None) -> Tensor:
    """Return which points count in statistics: not padding, nor clouds that fill up a batch."""
    return (real if counts is None else real * counts[:, None]).flatten()


def _grouped_max(h: Tensor, has: Tensor) -> Tensor:
    """Return the maximum over existing neighbours: (N, k, H) -> (N, H)."""
    return h.masked_fill(~has.unsqueeze(-1), -torch.inf).amax(1)


class PointNetPlusPlus(Standardized):
    """Two set abstractions, then a PointNet on their features (Qi and others, 2017).

    A set abstraction maps the neighbours of every centre, relative to it, and takes the maximum.
    """

    ratios = (0.5, 0.25)
    neighbors = 16

    def __init__(self, features: int, outputs: int) -> None:
        super().__init__(features)
        self.abstractions = nn.ModuleList(
            [SharedMLP((features, 64, 64, 128)), SharedMLP((features + 128, 128, 128, 256))]
        )
        self.whole = SharedMLP((features + 256, 256, 512, 1024))
        self.maps = nn.ModuleList([nn.Linear(1024, 512), nn.Linear(512, 256)])
        self.norms = nn.ModuleList([FeatureNorm(512), FeatureNorm(256)])
        self.last = nn.Linear(256, outputs)

    def forward(self, batch: PyramidBatch, counts: Tensor | None = None) -> Tensor:
        x = self.standardized(batch.points).flatten(0, 1)
        h = x.new_zeros(len(x), 0)
        for level, abstraction in zip(batch.levels[1:], self.abstractions, strict=True):
            assert isinstance(abstraction, SharedMLP)
            centre = _take(x, level.centres)
            seen = _take(x, level.below) - centre.unsqueeze(1)
            group = torch.cat([seen, _take(h, level.below)], -1)
            counted = _counted(level.real, counts).unsqueeze(-1) * level.has_below
            x, h = centre, abstraction.pooled(group, counted, level.has_below)
        top = batch.levels[-1].real
        h = torch.cat([x, h], -1).view(*top.shape, -1)
        h = self.whole.pooled(h, _counted(top, counts), top)
        for linear, norm in zip(self.maps, self.norms, strict=True):
            h = torch.relu(norm(linear(h), counts))
        out: Tensor = self.last(h)
        return out


class _VectorAttention(PointTransformerConv):  # type: ignore[misc]
    """PointTransformerConv on neighbour lists of one length: no scattering over edges."""

    def forward(self, x: Tensor, pos: Tensor, level: Level) -> Tensor:  # type: ignore[override]
        delta = self.pos_nn(pos.unsqueeze(1) - _take(pos, level.beside))
        score = self.lin_dst(x).unsqueeze(1) - _take(self.lin_src(x), level.beside) + delta
        score = self.attn_nn(score).masked_fill(~level.has_beside.unsqueeze(-1), -torch.inf)
        attended: Tensor = (score.softmax(1) * (_take(self.lin(x), level.beside) + delta)).sum(1)
        return attended


class _Block(nn.Module):
    """Points of a level attend to their neighbours, channel by channel."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(width, width), nn.Linear(width, width)
        self.attention = _VectorAttention(
            width,
            width,
            nn.Sequential(nn.Linear(features, 64), nn.ReLU(), nn.Linear(64, width)),
            nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, width)),
        )

    def forward(self, h: Tensor, x: Tensor, level: Level) -> Tensor:
        attended = self.attention(torch.relu(self.enter(h)), x, level)
        out: Tensor = torch.relu(h + self.leave(attended))
        return out


class PointTransformer(Standardized):
    """Vector attention on ever fewer points (Zhao and others, 2021).

    A transition down maps the points of a level and gives every centre of the next the maximum
    over its neighbours.
    """

    ratios = (0.25, 0.25, 0.25, 0.25)
    neighbors = 16

    def __init__(self, features: int, outputs: int) -> None:
        super().__init__(features)
        widths = (32, 64, 128, 256, 512)
        self.lift = SharedMLP((features, widths[0]))
        self.blocks = nn.ModuleList(_Block(features, width) for width in widths)
        self.down = nn.ModuleList(SharedMLP(pair) for pair in pairwise(widths))
        self.head = nn.Sequential(nn.Linear(widths[-1], 64), nn.ReLU(), nn.Linear(64, outputs))

    def forward(self, batch: PyramidBatch, counts: Tensor | None = None) -> Tensor:
        x = self.standardized(batch.points).flatten(0, 1)
        below = batch.levels[0]
        h = self.blocks[0](self.lift(x, _counted(below.real, counts)), x, below)
        for level, transition, block in zip(
            batch.levels[1:], self.down, self.blocks[1:], strict=True
        ):
            mapped = transition(h, _counted(below.real, counts))
            x = _take(x, level.centres)
            h = block(_grouped_max(_take(mapped, level.below), level.has_below), x, level)
            below = level
        out: Tensor = self.head(mean_pool(h.view(*below.real.shape, -1), below.real))
        return out

"""Networks on the pyramids of clouds: PointNet++ and PointTransformer."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch_geometric.nn import PointTransformerConv

from pointforms.models.layers import SharedMLP, Standardized
from pointforms.models.normalised_rows import take_rows
from pointforms.models.pyramids import Level, PyramidBatch
from pointforms.models.vector_attention import vector_attention
from pointforms.nn.network import FeatureNorm


def _refuse_counts(counts: Tensor | None) -> None:
    """Raise an error for clouds that only fill up a batch: those of pyramids have none."""
    if counts is not None:
        raise ValueError("counts: expected None, since batches of pyramids are not filled up")


def _rows(places: Tensor, has: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Return the existing neighbours (N,) of all points, and the rows of each point's (n, k).

    Parameters
    ----------
    places : (n, k)
        The neighbours of each point.
    has : (n, k) or None
        Which exist, the first of every point among them; None if all do, and then the rows of the
        points follow one another.
    """
    if has is None:
        return places.flatten(), None
    rows = has.flatten().cumsum(0).view_as(has) - 1
    return places[has], torch.where(has, rows, rows[:, :1])


def _of_each_cloud(sizes: Tensor) -> Tensor | None:
    """Return the points of each cloud (B, n), where smaller ones repeat the last; None if equal."""
    largest = int(sizes.max())
    if int(sizes.min()) == largest:
        return None
    first = sizes.cumsum(0) - sizes
    within = torch.arange(largest, device=sizes.device).minimum(sizes.unsqueeze(1) - 1)
    return first.unsqueeze(1) + within


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
        _refuse_counts(counts)
        x, h = self.standardized(batch.points), None
        for level, abstraction in zip(batch.levels[1:], self.abstractions, strict=True):
            assert isinstance(abstraction, SharedMLP)
            below, slots = _rows(level.below, level.has_below)
            centre = x.index_select(0, level.centres)
            owners = centre.unsqueeze(1).expand(-1, level.below.shape[1], -1)
            own = owners.flatten(0, 1) if slots is None else owners[level.has_below]
            seen = x.index_select(0, below) - own
            h = abstraction.largest_of_rows(seen, h, below, slots, len(centre))
            x = centre
        sizes = batch.levels[-1].sizes
        h = self.whole.largest_of_rows(x, h, None, _of_each_cloud(sizes), len(sizes))
        for linear, norm in zip(self.maps, self.norms, strict=True):
            h = torch.relu(norm(linear(h), counts))
        out: Tensor = self.last(h)
        return out


class _VectorAttention(PointTransformerConv):  # type: ignore[misc]
    """PointTransformerConv on neighbour lists of one length: no scattering over edges."""

    def forward(self, x: Tensor, pos: Tensor, level: Level) -> Tensor:  # type: ignore[override]
        return vector_attention(
            self.lin_dst(x),
            self.lin_src(x),
            self.lin(x),
            pos.unsqueeze(1) - take_rows(pos, level.beside),
            level.beside,
            level.has_beside,
            _two_maps(self.pos_nn),
            _two_maps(self.attn_nn),
        )


def _two_maps(network: nn.Sequential) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return matrices and biases of two linear maps with something in between."""
    first, _, second = network
    assert isinstance(first, nn.Linear)
    assert isinstance(second, nn.Linear)
    return first.weight, first.bias, second.weight, second.bias


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
        _refuse_counts(counts)
        x = self.standardized(batch.points)
        h = self.blocks[0](self.lift.of_rows(x), x, batch.levels[0])
        for level, transition, block in zip(
            batch.levels[1:], self.down, self.blocks[1:], strict=True
        ):
            assert isinstance(transition, SharedMLP)
            x = x.index_select(0, level.centres)
            h = block(transition.largest_around(h, level.below), x, level)
        top = batch.levels[-1]
        pooled = h.new_zeros(len(top.sizes), h.shape[1]).index_add(0, top.owners(), h)
        out: Tensor = self.head(pooled / top.sizes.unsqueeze(1))
        return out

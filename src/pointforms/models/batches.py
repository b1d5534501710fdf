"""Batches of clouds, and of graphs on them, for networks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from pointforms.models.neighbor_graphs import CloudGraph
from pointforms.nn.frames import Frame
from pointforms.nn.point_store import PointStore

Weights = Literal["sum", "mean", "mean-transposed", "gcn"]


def sparse_rows(starts: Tensor, columns: Tensor, values: Tensor, size: tuple[int, int]) -> Tensor:
    """Return a sparse matrix in compressed rows."""
    with warnings.catch_warnings():  # torch calls the format experimental
        warnings.filterwarnings("ignore", "Sparse CSR tensor support", UserWarning)
        return torch.sparse_csr_tensor(starts, columns, values, size, check_invariants=False)


class CloudBatch(NamedTuple):
    """B clouds, padded to n points. A tuple, so that torch.func can map over stacked batches.

    Attributes
    ----------
    points : (..., B, n, D)
    real : (..., B, n)
        1 for points, 0 for padding.
    """

    points: Tensor
    real: Tensor


@dataclass(frozen=True)
class GraphBatch:
    """B clouds with their graphs; nodes are the B n positions, of which padding has no neighbours.

    Attributes
    ----------
    points : (B, n, D)
    real : (B, n)
    starts : (B n + 1,) tensor
        Where the neighbours of each node start in `neighbors`.
    neighbors : (E,) tensor
        The neighbours of each node and the node itself, ascending.
    """

    points: Tensor
    real: Tensor
    starts: Tensor
    neighbors: Tensor

    def owners(self) -> Tensor:
        """Return the node to which each entry of `neighbors` belongs."""
        nodes = torch.arange(len(self.starts) - 1, device=self.starts.device)
        return nodes.repeat_interleave(self.starts.diff())

    def edge_index(self) -> Tensor:
        """Return edges (source, target) as PyTorch Geometric has them, without loops: (2, E')."""
        edges = torch.stack([self.neighbors, self.owners()])
        return edges[:, edges[0] != edges[1]]

    def adjacency(self, weights: Weights) -> Tensor:
        """Return a sparse matrix of sums or means over neighbours, or of GCN's normalisation.

        "mean-transposed" is the transpose of that of means, which gradients need.
        """
        owners, neighbors = self.owners(), self.neighbors
        degree = (self.starts.diff() - 1).to(self.points.dtype)  # a node is in its own list
        loop = owners == neighbors
        if weights == "gcn":  # (d_i + 1)^-1/2 (d_j + 1)^-1/2, loops included
            scale = (degree + 1).rsqrt()
            values = scale[owners] * scale[neighbors]
        else:
            scale = (
                torch.ones_like(degree) if weights == "sum" else degree.clamp_min(1).reciprocal()
            )
            of_nodes = neighbors if weights == "mean-transposed" else owners
            values = torch.where(loop, 0.0, scale[of_nodes])
        return sparse_rows(self.starts, neighbors, values, (len(degree), len(degree)))

    def mask(self) -> Tensor:
        """Return which nodes of a cloud are neighbours, not counting themselves: (B, n, n)."""
        B, n = self.real.shape
        owners, neighbors = self.owners(), self.neighbors
        mask = torch.zeros(B * n, n, dtype=torch.bool, device=owners.device)
        mask[owners, neighbors % n] = True
        mask[torch.arange(B * n), torch.arange(B * n) % n] = False
        return mask.view(B, n, n)


class CloudStore(PointStore):
    """Clouds of differing sizes, for networks on bare points."""

    stackable = True

    def numbers(self) -> int:
        """Return how many numbers a network of ordinary width computes per point in one step."""
        return 64

    def gather(self, index: Tensor, rows: Tensor | None = None) -> Any:
        """Return the clouds of index (..., B), with all points or with rows (..., B, m) of each."""
        place, real = self.places(index, rows)
        return CloudBatch(self.points[place], real.to(self.points.dtype))


class WholeCloudStore(CloudStore):
    """Clouds with something that needs all of their points, such as a graph."""

    stackable = False

    def places(self, index: Tensor, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the rows of the flat tensors for the clouds `index`, and which are not padding."""
        if rows is not None:
            raise ValueError("points_per_epoch: expected None, graphs need all points of a cloud")
        return super().places(index)


class GraphStore(WholeCloudStore):
    """Clouds with a graph on each."""

    def __init__(
        self,
        graphs: Sequence[CloudGraph],
        dtype: torch.dtype,
        device: torch.device | str,
        origin: Tensor | None = None,
        unit: Tensor | None = None,
        frame: Frame = "absolute",
        centers: Tensor | None = None,
    ) -> None:
        points = [graph.points for graph in graphs]
        super().__init__(points, dtype, device, origin, unit, frame, centers)
        self.lists = SparseBlocks(
            [graph.starts for graph in graphs], [graph.neighbors for graph in graphs], device
        )

    def gather(self, index: Tensor, rows: Tensor | None = None) -> GraphBatch:
        """Return the clouds of index (B,), with all of their points."""
        place, real = self.places(index, rows)
        index = index.to(place.device)
        nodes = torch.full_like(index, real.shape[1])
        starts, neighbors, _ = self.lists.gather(index, nodes, nodes)
        return GraphBatch(self.points[place], real.to(self.points.dtype), starts, neighbors)


class SparseBlocks:
    """Positions of the entries of many sparse matrices, gathered as those of a block diagonal."""

    def __init__(
        self, starts: Sequence[Tensor], columns: Sequence[Tensor], device: torch.device | str
    ) -> None:
        self.lengths = torch.cat([one.diff() for one in starts]).to(device)
        self.columns = torch.cat(list(columns)).to(device)
        self.heights = torch.tensor([len(one) - 1 for one in starts], device=device)
        self.entries = torch.tensor([len(one) for one in columns], device=device)

    def gather(
        self, index: Tensor, heights: Tensor, widths: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the blocks of index (B,), padded to the given heights (B,) and widths (B,).

        In compressed rows: where each row starts, the column of each entry, and which of all
        entries it is.
        """
        lengths = torch.zeros(int(heights.sum()), dtype=torch.long, device=index.device)
        here = _ragged(_before(heights), self.heights[index])
        lengths[here] = self.lengths[_ragged(_before(self.heights)[index], self.heights[index])]
        taken = _ragged(_before(self.entries)[index], self.entries[index])
        shift = _before(widths).repeat_interleave(self.entries[index])
        starts = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        return starts, self.columns[taken] + shift, taken


def _before(counts: Tensor) -> Tensor:
    """Return the sum of all earlier counts."""
    return counts.cumsum(0) - counts


def _ragged(first: Tensor, count: Tensor) -> Tensor:
    """Return first_0, first_0 + 1, …, count_0 numbers in all, then count_1 from first_1, …"""
    shift = (first - _before(count)).repeat_interleave(count)
    return torch.arange(int(count.sum()), device=count.device) + shift

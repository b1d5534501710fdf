"""Batches of clouds, and of graphs on them, for networks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from pointforms.models.neighbor_graphs import CloudGraph
from pointforms.nn.stores import PointStore

Weights = Literal["sum", "mean", "gcn"]


def sparse_rows(starts: Tensor, columns: Tensor, values: Tensor, size: tuple[int, int]) -> Tensor:
    """Return a sparse matrix in compressed rows."""
    with warnings.catch_warnings():  # torch calls the format experimental
        warnings.filterwarnings("ignore", "Sparse CSR tensor support", UserWarning)
        return torch.sparse_csr_tensor(starts, columns, values, size, check_invariants=False)


@dataclass(frozen=True)
class CloudBatch:
    """B clouds, padded to n points.

    Attributes
    ----------
    points : (..., B, n, D)
    real : (..., B, n)
        1 for points, 0 for padding.
    """

    points: Tensor
    real: Tensor

    def tree(self) -> tuple[Tensor, ...]:
        return self.points, self.real


@dataclass(frozen=True)
class GraphBatch:
    """B clouds with their graphs; nodes are the B n positions, padding included.

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

    def tree(self) -> tuple[Tensor, ...]:
        return self.points, self.real, self.starts, self.neighbors

    def owners(self) -> Tensor:
        """Return the node to which each entry of `neighbors` belongs."""
        nodes = torch.arange(len(self.starts) - 1, device=self.starts.device)
        return nodes.repeat_interleave(self.starts.diff())

    def edge_index(self) -> Tensor:
        """Return edges (source, target) as PyTorch Geometric has them, without loops: (2, E')."""
        edges = torch.stack([self.neighbors, self.owners()])
        return edges[:, edges[0] != edges[1]]

    def adjacency(self, weights: Weights) -> Tensor:
        """Return a sparse matrix of sums or means over neighbours, or of GCN's normalisation."""
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
            values = torch.where(loop, 0.0, scale[owners])
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
    batch: type = CloudBatch

    def numbers(self) -> int:
        """Return how many numbers a network of ordinary width computes per point in one step."""
        return 64

    def gather(self, index: Tensor, rows: Tensor | None = None) -> Any:
        """Return the clouds of index (..., B), with all points or with rows (..., B, m) of each."""
        place, real = self.places(index, rows)
        return CloudBatch(self.points[place], real.to(self.points.dtype))


class GraphStore(CloudStore):
    """Clouds with a graph on each."""

    stackable = False
    batch: type = GraphBatch

    def __init__(
        self, graphs: Sequence[CloudGraph], dtype: torch.dtype, device: torch.device | str
    ) -> None:
        super().__init__([graph.points for graph in graphs], dtype, device)
        degrees = [graph.starts.diff() for graph in graphs]
        self.degrees = torch.cat([*degrees, torch.ones(1, dtype=torch.long)]).to(device)
        self.neighbors = torch.cat([graph.neighbors for graph in graphs]).to(device)
        edges = torch.tensor([len(graph.neighbors) for graph in graphs])
        self.edges = edges.to(device)
        self.first_edges = (edges.cumsum(0) - edges).to(device)

    def gather(self, index: Tensor, rows: Tensor | None = None) -> GraphBatch:
        """Return the clouds of index (B,), with all of their points."""
        if rows is not None:
            raise ValueError("points_per_epoch: expected None, graphs need all points of a cloud")
        place, real = self.places(index)
        B, n = place.shape
        # entries of each cloud, moved to the positions of its nodes
        count, first = self.edges[index], self.first_edges[index]
        entries = torch.arange(int(count.sum()), device=index.device)
        shift = (first - (count.cumsum(0) - count)).repeat_interleave(count)
        block = torch.arange(B, device=index.device).repeat_interleave(count)
        neighbors = self.neighbors[entries + shift] + block * n
        # padding is its own neighbour, so that every node has a list
        degrees = torch.where(real, self.degrees[place], 1).flatten()
        starts = torch.cat([degrees.new_zeros(1), degrees.cumsum(0)])
        padding = (~real.flatten()).nonzero().squeeze(1)
        filled = torch.empty(int(starts[-1]), dtype=torch.long, device=index.device)
        of_padding = torch.zeros_like(filled, dtype=torch.bool)
        of_padding[starts[:-1][padding]] = True
        filled[of_padding], filled[~of_padding] = padding, neighbors
        return GraphBatch(self.points[place], real.to(self.points.dtype), starts, filled)

"""A simplicial network: messages across edges and triangles of the clique complex of a cloud."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array
from torch import Tensor, nn

from pointforms.clouds import plain_clouds
from pointforms.models.batches import SparseBlocks, WholeCloudStore, sparse_rows
from pointforms.models.hodge import clique_complex
from pointforms.models.layers import Standardized, mean_pool
from pointforms.models.neighbor_graphs import Neighbors, neighbor_count
from pointforms.models.sparse_products import directions, sparse_product
from pointforms.nn.frames import Frame

Operator = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class CloudComplex:
    """A cloud, with the operators between its points, edges and triangles.

    Attributes
    ----------
    points : (n, D)
    difference : (E, n)
        B₁ᵀ, the difference of a function along every edge.
    to_points : (n, E)
        The mean over the edges of a point, of the edge and the mean over the triangles of the edge,
        of the means over their edges.
    """

    points: Tensor
    difference: csr_array
    to_points: csr_array


def cloud_complexes(clouds: Any, neighbors: Neighbors, most: int = 8) -> list[CloudComplex]:
    """Return clique complexes of the neighbour graphs; complexes are returned as they are.

    A point has at most `most` neighbours.
    """
    if isinstance(clouds, Sequence) and clouds and isinstance(clouds[0], CloudComplex):
        return list(clouds)
    return [
        _complex(points, min(most, neighbor_count(neighbors, len(points))))
        for points in plain_clouds(clouds)
    ]


def _complex(points: Tensor, neighbors: int) -> CloudComplex:
    B1, B2 = clique_complex(points.double().cpu().numpy(), neighbors)
    across = csr_array(_means(abs(B2)) @ _means(abs(B2).T))
    of_edges = _means(abs(B1))
    # one product with the sum, which has fewer entries than across, instead of two
    return CloudComplex(points, csr_array(B1.T), csr_array(of_edges + of_edges @ across))


def _means(incidence: Any) -> csr_array:
    """Return rows divided by their sums; empty rows stay empty."""
    rows = np.asarray(incidence.sum(1)).ravel()
    return csr_array(diags_array(1 / np.maximum(rows, 1)) @ incidence)


@dataclass(frozen=True)
class SimplicialBatch:
    """B clouds, padded to n points, with the operators of all of them side by side.

    Each operator has its transpose beside it, for gradients.
    """

    points: Tensor
    real: Tensor
    difference: Operator
    to_points: Operator


class SimplicialStore(WholeCloudStore):
    """Clouds with the operators of their complexes."""

    def __init__(
        self,
        complexes: Sequence[CloudComplex],
        dtype: torch.dtype,
        device: torch.device | str,
        origin: Tensor | None = None,
        unit: Tensor | None = None,
        frame: Frame = "absolute",
        centers: Tensor | None = None,
    ) -> None:
        points = [one.points for one in complexes]
        super().__init__(points, dtype, device, origin, unit, frame, centers)
        self.operators, self.transposed = {}, {}
        for name in ("difference", "to_points"):
            blocks = [getattr(one, name) for one in complexes]
            self.operators[name] = _Matrices(blocks, dtype, device)
            self.transposed[name] = _Matrices([csr_array(m.T) for m in blocks], dtype, device)

    def gather(self, index: Tensor, rows: Tensor | None = None) -> SimplicialBatch:
        """Return the clouds of index (B,), with all of their points."""
        place, real = self.places(index, rows)
        index = index.to(place.device)
        nodes = torch.full_like(index, real.shape[1])  # padded
        edges = self.operators["difference"].positions.heights[index]

        def pair(name: str, heights: Tensor, widths: Tensor) -> Operator:
            return (
                self.operators[name].gather(index, heights, widths),
                self.transposed[name].gather(index, widths, heights),
            )

        return SimplicialBatch(
            self.points[place],
            real.to(self.points.dtype),
            pair("difference", edges, nodes),
            pair("to_points", nodes, edges),
        )


class _Matrices:
    """Many sparse matrices, from which block-diagonal ones are gathered."""

    def __init__(
        self, matrices: Sequence[csr_array], dtype: torch.dtype, device: torch.device | str
    ) -> None:
        self.positions = SparseBlocks(
            [torch.from_numpy(m.indptr).long() for m in matrices],
            [torch.from_numpy(m.indices).long() for m in matrices],
            device,
        )
        values = np.concatenate([m.data for m in matrices])
        self.values = torch.from_numpy(values).to(device, dtype)

    def gather(self, index: Tensor, heights: Tensor, widths: Tensor) -> Tensor:
        """Return the blocks of index (B,), padded to the given heights (B,) and widths (B,)."""
        starts, columns, taken = self.positions.gather(index, heights, widths)
        size = (int(heights.sum()), int(widths.sum()))
        return sparse_rows(starts, columns, self.values[taken], size)


class SimplicialNetwork(Standardized):
    """Two linear maps with layer normalisation; messages between dimensions have no parameters.

    The message along an edge is the difference of the features at its ends, |B₁ᵀh|, scaled to a
    unit vector: the direction of the edge, whatever its length. An edge adds the mean of its
    triangles, each the mean of its edges, and a point adds the mean of its edges to its features.
    """

    def __init__(self, features: int, outputs: int, hidden: int = 128) -> None:
        super().__init__(features)
        self.maps = nn.ModuleList([nn.Linear(features, hidden), nn.Linear(hidden, hidden)])
        self.norms = nn.ModuleList([nn.LayerNorm(hidden), nn.LayerNorm(hidden)])
        self.head = nn.Linear(hidden, outputs)

    def forward(self, batch: SimplicialBatch, counts: Tensor | None = None) -> Tensor:
        h = self.standardized(batch.points).flatten(0, 1)
        for linear, norm in zip(self.maps, self.norms, strict=True):
            h = torch.relu(norm(linear(h)))
            h = h + self._messages(h, batch)
        out: Tensor = self.head(mean_pool(h.view(*batch.real.shape, -1), batch.real))
        return out

    def _messages(self, h: Tensor, batch: SimplicialBatch) -> Tensor:
        # scale to the norm of the features themselves, which layer normalisation has made √H
        edges = directions(*batch.difference, h, h.shape[-1] ** 0.5)
        return sparse_product(*batch.to_points, edges)

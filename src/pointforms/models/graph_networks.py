"""Graph networks on the neighbour graphs of clouds, with convolutions of PyTorch Geometric."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GCNConv, GINConv, SAGEConv, TransformerConv

from pointforms.models.batches import GraphBatch, Weights
from pointforms.models.layers import Standardized, mean_pool
from pointforms.models.sparse_products import sparse_product
from pointforms.nn.network import FeatureNorm

# Clouds of up to this many points attend by masked dense products, ten times faster than by edges.
_DENSE = 512


Aggregation = Callable[[Tensor], Tensor]


def aggregation(batch: GraphBatch, weights: Weights) -> Aggregation:
    """Return the weighted sum over the neighbours of each node, as a function of (N, H)."""
    A = batch.adjacency(weights)
    # graphs are symmetric, and so are the weights of their edges, but for those of means
    transposed = batch.adjacency("mean-transposed") if weights == "mean" else A
    return lambda h: sparse_product(A, transposed, h)


class _GraphNetwork(Standardized, ABC):
    """Two convolutions, the mean over the points of a cloud, a linear map."""

    weights: Weights

    def __init__(self, features: int, outputs: int, hidden: int = 128) -> None:
        super().__init__(features)
        self.first = self.convolution(features, hidden)
        self.second = self.convolution(hidden, hidden)
        self.head = nn.Linear(hidden, outputs)

    @abstractmethod
    def convolution(self, inputs: int, outputs: int) -> nn.Module:
        """Return a layer of PyTorch Geometric, of which only the parameters are used."""

    @abstractmethod
    def convolved(self, layer: Any, h: Tensor, over_neighbors: Aggregation) -> Tensor:
        """Return what a layer computes at every node (N, H), given how it aggregates."""

    def forward(self, batch: GraphBatch, counts: Tensor | None = None) -> Tensor:
        over_neighbors = aggregation(batch, self.weights)
        h = self.standardized(batch.points).flatten(0, 1)
        h = torch.relu(self.convolved(self.first, h, over_neighbors))
        h = torch.relu(self.convolved(self.second, h, over_neighbors))
        out: Tensor = self.head(mean_pool(h.view(*batch.real.shape, -1), batch.real))
        return out


class GCN(_GraphNetwork):
    """Graph convolutions (Kipf and Welling, 2017)."""

    weights = "gcn"

    def convolution(self, inputs: int, outputs: int) -> nn.Module:
        # the batch has normalised the adjacency, with loops, already
        return GCNConv(inputs, outputs, normalize=False, add_self_loops=False)  # type: ignore[no-any-return]

    def convolved(self, layer: Any, h: Tensor, over_neighbors: Aggregation) -> Tensor:
        if layer.in_channels < layer.out_channels:  # sums of narrow rows are cheaper
            return functional.linear(over_neighbors(h), layer.lin.weight, layer.bias)
        out: Tensor = over_neighbors(layer.lin(h)) + layer.bias
        return out


class GIN(_GraphNetwork):
    """Graph isomorphism network (Xu and others, 2019): one linear map per layer, trained ε."""

    weights = "sum"

    def convolution(self, inputs: int, outputs: int) -> nn.Module:
        return GINConv(nn.Linear(inputs, outputs), train_eps=True)  # type: ignore[no-any-return]

    def convolved(self, layer: Any, h: Tensor, over_neighbors: Aggregation) -> Tensor:
        out: Tensor = layer.nn((1 + layer.eps) * h + over_neighbors(h))
        return out


class _Perceptron(nn.Module):
    """The two layers of an MLP, each a linear map, batch normalisation and ReLU."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.maps = nn.ModuleList([nn.Linear(inputs, hidden), nn.Linear(hidden, hidden)])
        self.norms = nn.ModuleList([FeatureNorm(hidden), FeatureNorm(hidden)])

    def forward(self, h: Tensor, counted: Tensor) -> Tensor:
        for linear, norm in zip(self.maps, self.norms, strict=True):
            h = torch.relu(norm(linear(h), counted))
        return h


class DeepGIN(Standardized):
    """Graph isomorphism network as its authors use it (Xu and others, 2019, section 7).

    Layer l computes h ← MLP((1 + ε_l) h + Σ_neighbours h), with an MLP of two layers, batch
    normalisation of every hidden layer, and a trained ε_l. There are five layers, the input
    counted. The readout uses all of them: the sum over layers of a linear map of the mean over the
    points. :class:`GIN` has the size of the paper on point-forms instead: one linear map per layer.
    """

    def __init__(self, features: int, outputs: int, hidden: int = 64, layers: int = 4) -> None:
        super().__init__(features)
        widths = [features] + [hidden] * layers
        self.epsilon = nn.Parameter(torch.zeros(layers))
        self.updates = nn.ModuleList(_Perceptron(width, hidden) for width in widths[:-1])
        self.heads = nn.ModuleList(nn.Linear(width, outputs) for width in widths)

    def forward(self, batch: GraphBatch, counts: Tensor | None = None) -> Tensor:
        over_neighbors, real = aggregation(batch, "sum"), batch.real
        # neither padding nor clouds that fill up a batch belong to its statistics
        counted = (real if counts is None else real * counts[:, None]).flatten()
        h = self.standardized(batch.points).flatten(0, 1)
        out: Tensor = self.heads[0](mean_pool(h.view(*real.shape, -1), real))
        for l, update in enumerate(self.updates):
            h = update((1 + self.epsilon[l]) * h + over_neighbors(h), counted)
            out = out + self.heads[l + 1](mean_pool(h.view(*real.shape, -1), real))
        return out


class GraphSAGE(_GraphNetwork):
    """Mean aggregation (Hamilton and others, 2017)."""

    weights = "mean"

    def convolution(self, inputs: int, outputs: int) -> nn.Module:
        return SAGEConv(inputs, outputs, aggr="mean")  # type: ignore[no-any-return]

    def convolved(self, layer: Any, h: Tensor, over_neighbors: Aggregation) -> Tensor:
        out: Tensor = layer.lin_l(over_neighbors(h)) + layer.lin_r(h)
        return out


class _EdgeAttention(TransformerConv):  # type: ignore[misc]
    """TransformerConv, computed by masked dense products where clouds are small."""

    def forward(self, x: Tensor, batch: GraphBatch, mask: Tensor | None) -> Tensor:  # type: ignore[override]
        if mask is None:
            out: Tensor = super().forward(x, batch.edge_index())
            return out
        B, n = batch.real.shape

        def split(t: Tensor) -> Tensor:
            return t.view(B, n, self.heads, self.out_channels).transpose(1, 2)

        attended = functional.scaled_dot_product_attention(
            split(self.lin_query(x)), split(self.lin_key(x)), split(self.lin_value(x)), mask
        )
        skipped: Tensor = attended.transpose(1, 2).reshape(B * n, -1) + self.lin_skip(x)
        return skipped


class GraphTransformer(Standardized):
    """Three attention convolutions (Shi and others, 2021), the mean, two linear maps."""

    def __init__(self, features: int, outputs: int, hidden: int = 128, heads: int = 4) -> None:
        super().__init__(features)
        widths = (features, hidden, hidden)
        self.layers = nn.ModuleList(
            _EdgeAttention(width, hidden // heads, heads=heads) for width in widths
        )
        self.inner = nn.Linear(hidden, hidden)
        self.head = nn.Linear(hidden, outputs)

    def forward(self, batch: GraphBatch, counts: Tensor | None = None) -> Tensor:
        small = batch.real.shape[1] <= _DENSE
        mask: Any = batch.mask().unsqueeze(1) if small else None
        h = self.standardized(batch.points).flatten(0, 1)
        for layer in self.layers:
            # normalised without parameters, so that deep layers see how little neighbours differ
            h = torch.relu(functional.layer_norm(layer(h, batch, mask), (self.inner.in_features,)))
        pooled = mean_pool(h.view(*batch.real.shape, -1), batch.real)
        out: Tensor = self.head(torch.relu(self.inner(pooled)))
        return out

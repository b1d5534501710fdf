"""Search the nearest neighbours of every point: by a tree, by brute force or approximately."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pointforms.geometry.settings import Search
from pointforms.support.extras import need

# Elements of one temporary block: 8 MB in float64, so that blocks stay near the CPU cache.
BLOCK = 1 << 20

# With fewer points a tree costs more than it saves; with more features it visits every point.
_TREE_MIN_POINTS = 512
_TREE_MAX_FEATURES = 10
# From this size on exact search takes minutes, and approximate search seconds.
_APPROXIMATE_MIN_POINTS = 50_000
# From this size on a tree is asked in its own order, so that consecutive points visit the same
# leaves, which are then in the CPU cache; its leaves are larger.
LARGE = 10_000
_LEAF = 32
# Up to this size distances are computed from differences; above it, products select candidates,
# a few more than needed, and differences refine them.
_DIRECT_MAX_POINTS = 1024
_REFINE_EXTRA = 8


@dataclass(frozen=True)
class NeighborLists:
    """Neighbours in a batch of B clouds of n points: k per point, the point itself included.

    Attributes
    ----------
    sq : Tensor, shape (B, n, k)
        Squared distances; ascending, the point itself first, unless the graph is complete.
    index : Tensor or None, shape (B, n, k)
        Rows of the flattened batch, b n + j. None stands for the complete graph, in which every
        point lists all points in order.
    share : Tensor or None, shape (B, n, k)
        Weight of each entry; None stands for 1. Points tied at the last distance share the last
        places, see :mod:`pointforms.geometry.ties`, and entries beyond them have weight 0. Then the
        last entry of `sq` is the last distance in any case.
    merged : bool
        Whether an entry may stand for several copies of a point, with their number as its weight.
    mass : Tensor or None, shape (B, n)
        Weights of the points themselves, with mean 1; None stands for 1. In every sum over a list
        a neighbour counts as often as its mass says.
    rows : slice or None
        The points that the lists are of, if they are only some of those of one cloud; None stands
        for all. The first n in the shapes above is then their number, except in that of `mass`.
    """

    sq: Tensor
    index: Tensor | None
    share: Tensor | None = None
    merged: bool = False
    mass: Tensor | None = None
    rows: slice | None = None

    @property
    def complete(self) -> bool:
        return self.index is None

    @property
    def length(self) -> int:
        """Number of points that each list stands for, k: the sum of its weights.

        Lists of a graph may differ in it; then it is the median over the first cloud.
        """
        if self.share is None:
            return self.sq.shape[-1]
        return round(float(self.share[0].sum(-1).median()))

    def parts(self) -> Iterator[NeighborLists]:
        """Yield lists of some rows after the other: all at once."""
        yield self

    def own(self, values: Tensor) -> Tensor:
        """Look up values (B, n) of all points at those that the lists are of."""
        return values if self.rows is None else values[:, self.rows]

    def of_rows(self, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the indices and shares (B, m, k) of the lists of some rows (B, m) of each cloud.

        The graph must not be complete.
        """
        assert self.index is not None
        places = rows.unsqueeze(-1).expand(-1, -1, self.index.shape[-1])
        share = None if self.share is None else self.share.gather(1, places)
        return self.index.gather(1, places), share

    def gather(self, values: Tensor) -> Tensor:
        """Look up values (B, n, ...) of the points at their neighbours: (B, n, k, ...)."""
        if self.index is None:
            B, n, _ = self.sq.shape
            return values.unsqueeze(1).expand(B, n, *values.shape[1:])
        flat = values.flatten(0, 1).index_select(0, self.index.flatten())
        return flat.view(*self.index.shape, *values.shape[2:])

    def entry_weights(self) -> Tensor | None:
        """Return the weight of each entry in a sum, share times mass: (B, n, k); None for 1."""
        if self.mass is None:
            return self.share
        mass = self.gather(self.mass)
        return mass if self.share is None else mass * self.share

    def nearest_sq(self, count: int) -> Tensor:
        """Return squared distances to the `count` nearest points: (B, n, count)."""
        if self.index is not None:
            return self.sq[..., :count]
        return self.sq.topk(count, dim=-1, largest=False).values

    def sum_of_squares(self) -> Tensor:
        """Return the weighted sum of the squared distances of each list: (B, n)."""
        return (self.sq if self.share is None else self.sq * self.share).sum(-1)

    def mean(self, values: Tensor) -> Tensor:
        """Average values (B, n) of the points over each list: (B, n)."""
        gathered, weights = self.gather(values), self.entry_weights()
        if weights is None:
            return gathered.mean(-1)
        return (gathered * weights).sum(-1) / weights.sum(-1)

    def sort(self, k: int) -> NeighborLists:
        """Return the k nearest of each list of a complete graph, ascending."""
        sq, local = self.sq.topk(k, dim=-1, largest=False)
        return _self_first(sq, local)

    def padded(self, width: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return `sq`, `index` and `share`, continued up to a width by entries of weight 0."""
        assert self.index is not None
        more = width - self.sq.shape[-1]
        share = torch.ones_like(self.sq) if self.share is None else self.share
        return (
            torch.cat([self.sq, self.sq[..., -1:].expand(-1, -1, more)], -1),
            torch.cat([self.index, self.index[..., :1].expand(-1, -1, more)], -1),
            torch.nn.functional.pad(share, (0, more)),
        )


def neighbor_lists(points: Tensor, k: int, search: Search = "auto") -> NeighborLists:
    """Return the k nearest neighbours of every point of (B, n, D) in its own cloud.

    k ≥ n gives the complete graph. The search is exact unless `search` is "approximate", or it is
    "auto", the cloud has many points and many features, and the extra `ann` is installed.
    """
    n = points.shape[1]
    if k >= n:
        return NeighborLists(_direct_sq(points, points), None)
    method = search_method(points, search)
    if method == "brute":
        return _brute(points, k)
    one = _tree if method == "tree" else _approximate
    return _stacked([one(cloud, k) for cloud in points])


def neighbors_of(
    cloud: Tensor, rows: Tensor, k: int, method: Search = "brute"
) -> tuple[Tensor, Tensor]:
    """Return exact squared distances and indices (m, k) of the k nearest to m rows of (n, D)."""
    if method == "tree":
        return _tree(cloud, k, rows)
    nearest = [
        _direct_sq(cloud.index_select(0, part), cloud).topk(k, dim=-1, largest=False)
        for part in rows.split(max(1, BLOCK // len(cloud)))
    ]
    return torch.cat([part.values for part in nearest]), torch.cat(
        [part.indices for part in nearest]
    )


def search_method(points: Tensor, search: Search) -> Search:
    """Return how neighbours in (B, n, D) are searched: `search` itself, or what "auto" chooses."""
    if search != "auto":
        return search
    _, n, D = points.shape
    if points.device.type != "cpu":
        return "brute"
    if D <= _TREE_MAX_FEATURES and n >= _TREE_MIN_POINTS:
        return "tree"
    if n >= _APPROXIMATE_MIN_POINTS and importlib.util.find_spec("faiss") is not None:
        return "approximate"
    return "brute"


def _direct_sq(a: Tensor, b: Tensor) -> Tensor:
    # |a|² + |b|² - 2ab would lose half the digits of a small distance
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist").square_()


def _brute(points: Tensor, k: int) -> NeighborLists:
    n = points.shape[1]
    if n <= _DIRECT_MAX_POINTS:
        clouds = max(1, BLOCK // (n * n))
        blocks = [
            _direct_sq(part, part).topk(k, dim=-1, largest=False) for part in points.split(clouds)
        ]
        return _self_first(torch.cat([b[0] for b in blocks]), torch.cat([b[1] for b in blocks]))
    return _stacked([_brute_one(cloud, k) for cloud in points])


def _brute_one(cloud: Tensor, k: int) -> tuple[Tensor, Tensor]:
    n, D = cloud.shape
    m = min(n, k + _REFINE_EXTRA)
    # in double precision, since single precision cannot rank close pairs of a wide cloud
    wide = cloud.double()
    norms = wide.square().sum(-1)
    sq, index = cloud.new_empty(n, k), torch.empty(n, k, dtype=torch.long, device=cloud.device)
    # blocks of BLOCK numbers; of more, within bounds, where those would be a few rows only
    rows = max(1, BLOCK // max(n, m * D), min(64, 4 * BLOCK // max(n, m * D)))
    for start in range(0, n, rows):
        block = cloud[start : start + rows]
        # |x_j|² - 2 x_i·x_j ranks the candidates, their differences measure them
        rough = torch.addmm(norms, wide[start : start + rows], wide.T, alpha=-2.0)
        candidates = rough.topk(m, dim=-1, largest=False, sorted=False).indices
        del rough  # the largest array, which would otherwise live on beside the next one
        exact = cloud[candidates].sub_(block.unsqueeze(1)).square_().sum(-1)
        best = exact.topk(k, dim=-1, largest=False)
        sq[start : start + rows] = best.values
        index[start : start + rows] = candidates.gather(-1, best.indices)
    return sq, index


def _tree(cloud: Tensor, k: int, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
    from scipy.spatial import KDTree  # 25 MB that small and wide clouds do not need

    values = cloud.cpu().numpy()
    workers = torch.get_num_threads()
    if rows is None and len(values) >= LARGE:
        return _tree_in_order(cloud, k)
    wanted = values if rows is None else values[rows.cpu().numpy()]
    distance, index = KDTree(values).query(wanted, k=k, workers=workers)
    return torch.from_numpy(distance).to(cloud).square_(), torch.from_numpy(index).to(cloud.device)


def _tree_in_order(cloud: Tensor, k: int) -> tuple[Tensor, Tensor]:
    values, tree = cloud.cpu().numpy(), large_tree(cloud)
    sq, index = cloud.new_empty(len(cloud), k), torch.empty(len(cloud), k, dtype=torch.long)
    for rows in np.array_split(tree.indices, -(-len(cloud) * k // BLOCK)):
        distance, nearest = tree.query(values[rows], k=k, workers=torch.get_num_threads())
        sq[rows] = torch.from_numpy(distance).to(cloud).square_()
        index[rows] = torch.from_numpy(nearest)
    return sq, index.to(cloud.device)


def large_tree(cloud: Tensor) -> Any:
    """Return a k-d tree of a large cloud (n, D); its `indices` are the order of its leaves."""
    from scipy.spatial import KDTree

    return KDTree(cloud.cpu().numpy(), leafsize=_LEAF)


def _approximate(cloud: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Search an HNSW graph (Malkov and Yashunin 2018), then compute exact distances."""
    faiss = need("faiss", "ann")
    values = np.ascontiguousarray(cloud.cpu().numpy(), dtype=np.float32)
    graph = faiss.IndexHNSWFlat(values.shape[1], 32)
    graph.hnsw.efConstruction = 100
    graph.hnsw.efSearch = max(64, 2 * k)
    graph.add(values)
    index = torch.from_numpy(graph.search(values, k)[1]).to(cloud.device)
    short = (index < 0).any(-1).nonzero().squeeze(-1)
    if len(short):  # the graph was disconnected there: search those points exactly
        index[short] = neighbors_of(cloud, short, k)[1]
    own = torch.arange(len(cloud), device=cloud.device)
    index[:, -1] = torch.where((index == own.unsqueeze(1)).any(-1), index[:, -1], own)
    size = max(1, BLOCK // (k * cloud.shape[1]))
    sq = torch.cat(
        [
            (cloud[rows] - own_rows.unsqueeze(1)).square().sum(-1)
            for rows, own_rows in zip(index.split(size), cloud.split(size), strict=True)
        ]
    )
    order = sq.argsort(dim=-1)
    return sq.gather(-1, order), index.gather(-1, order)


def _stacked(lists: list[tuple[Tensor, Tensor]]) -> NeighborLists:
    if len(lists) == 1:  # do not copy the lists of one large cloud
        return _self_first(lists[0][0].unsqueeze(0), lists[0][1].unsqueeze(0))
    sq, local = zip(*lists, strict=True)
    return _self_first(torch.stack(sq), torch.stack(local))


def _self_first(sq: Tensor, local: Tensor) -> NeighborLists:
    """Put the point itself first in its list, and make indices into the flattened batch.

    Among duplicates the search may list a point late or not at all. Every entry before it is then
    at distance zero, so the point can take the first place.
    """
    B, n, _ = local.shape
    own = torch.arange(n, device=local.device)
    wrong = local[..., 0] != own
    if bool(wrong.any()):
        cloud, row = wrong.nonzero(as_tuple=True)
        lists = local[cloud, row]
        first = lists[:, :1].clone()
        lists = torch.where(lists == row.unsqueeze(1), first, lists)
        lists[:, 0] = row
        local[cloud, row] = lists
        sq[cloud, row, 0] = 0.0
    if B > 1:
        local = local + (n * torch.arange(B, device=local.device)).view(B, 1, 1)
    return NeighborLists(sq, local)

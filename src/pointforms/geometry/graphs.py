"""Read neighbour lists from a graph that the caller already has.

A graph is an array of indices, as nearest-neighbour searches return it, or a sparse matrix of
distances or affinities, as scanpy, scikit-learn and graphtools keep it. Each becomes lists as wide
as the longest of them, the point itself first; shorter ones end with entries of weight 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from pointforms.geometry.neighbors import BLOCK, NeighborLists
from pointforms.tensors import describe

GraphKind = Literal["indices", "distances", "affinities"]
# How to make what a dense array may have been meant as.
_SPARSE_HINT = {
    "distances": 'for example kneighbors_graph(points, 15, mode="distance") of scikit-learn',
    "affinities": "for example scipy.sparse.csr_array(affinities)",
}


@dataclass(frozen=True)
class Graph:
    """Directed edges between n points, row by row, without those from a point to itself.

    Attributes
    ----------
    kind : {"indices", "distances", "affinities"}
        What was given.
    counts : ndarray, shape (n,)
        Number of edges of each row, at least 1.
    columns : ndarray, shape (m,)
        Where the edges end, row after row.
    values : ndarray or None, shape (m,)
        Distances or affinities in double precision; None for indices.
    own : ndarray or None, shape (n,)
        Affinity of each point to itself.
    """

    kind: GraphKind
    counts: np.ndarray
    columns: np.ndarray
    values: np.ndarray | None = None
    own: np.ndarray | None = None

    @property
    def median_length(self) -> int:
        """Number of neighbours of a typical point, the point itself included."""
        return 1 + int(np.quantile(self.counts, 0.5, method="lower"))


def graph_of(n: int, indices: Any, distances: Any, affinities: Any) -> Graph | None:
    """Check the graph of n points that was given, if any.

    Parameters
    ----------
    n : int
        Number of points.
    indices : array-like, tensor or None
        Neighbours of every point, (n, k).
    distances : sparse matrix, sparse tensor or None
        Distances, (n, n).
    affinities : sparse matrix, sparse tensor or None
        Affinities, (n, n).
    """
    graphs = {"indices": indices, "distances": distances, "affinities": affinities}
    given = [kind for kind, graph in graphs.items() if graph is not None]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} were given: expected at most one graph")
    if indices is not None:
        return _graph_of_indices(indices, n)
    if distances is not None:
        return _graph_of_matrix(distances, "distances", n)
    return None if affinities is None else _graph_of_matrix(affinities, "affinities", n)


def graph_lists(graph: Graph, x: Tensor, unit: Tensor) -> tuple[NeighborLists, Tensor | None]:
    """Return the lists of a graph on one cloud, and their affinities if it has any.

    Parameters
    ----------
    graph : Graph
        The graph.
    x : Tensor, shape (1, n, D)
        The cloud, in own units.
    unit : Tensor, shape (1, 1, 1)
        Its unit, in which given distances are expressed.

    Returns
    -------
    lists : NeighborLists
        Ascending by distance, or complete if every row has all points.
    affinities : Tensor or None, shape (1, n, k)
        Double precision, 0 at entries that are not listed.
    """
    n, width = len(graph.counts), 1 + int(graph.counts.max())
    ends = np.cumsum(graph.counts)
    row = np.repeat(np.arange(n), graph.counts)
    place = 1 + np.arange(len(row)) - np.repeat(ends - graph.counts, graph.counts)

    def table(values: Any, first: Any, fill: Any) -> Tensor:
        filled = np.full((n, width), fill, dtype=np.result_type(values))
        filled[row, place] = values
        filled[:, 0] = first
        return torch.from_numpy(filled).to(x.device)

    index = table(graph.columns, np.arange(n), 0)
    if graph.kind == "distances":
        assert graph.values is not None
        _refuse_connectivity(graph.values, row, graph.columns, x[0], unit)
        distance = table(graph.values / float(unit), 0.0, np.inf)
    else:
        lengths = _lengths(x[0], row, graph.columns).cpu().numpy()
        distance = table(lengths, 0.0, np.inf)
    affinity = None
    if graph.kind == "affinities":
        affinity = table(graph.values, graph.own, 0.0)
    # by distance after the point itself, whose copies may be as near; by number in a complete graph
    complete = bool((graph.counts == n - 1).all())
    order = (index if complete else distance).argsort(dim=-1, stable=True)
    index, distance = index.gather(-1, order), distance.gather(-1, order)
    affinity = None if affinity is None else affinity.gather(-1, order).unsqueeze(0)
    listed = torch.isfinite(distance)
    last = torch.where(listed, distance, 0.0).amax(-1, keepdim=True)
    sq = torch.where(listed, distance, last).square().to(x.dtype).unsqueeze(0)
    if not bool(torch.isfinite(sq).all()):
        raise ValueError(
            f"distances has values up to {float(last.max() * unit):.3g}, for points with an extent "
            f"of {float(unit):.3g}: their squares exceed the range of {x.dtype}"
        )
    if complete:
        return NeighborLists(sq, None), affinity
    own = torch.arange(n, device=x.device).unsqueeze(-1)
    index = torch.where(listed, index, own).unsqueeze(0)
    share = None if bool(listed.all()) else listed.to(x.dtype).unsqueeze(0)
    return NeighborLists(sq, index, share), affinity


def _graph_of_indices(indices: Any, n: int) -> Graph:
    if isinstance(indices, Tensor):
        indices = indices.detach().cpu().numpy()
    try:
        table = np.asarray(indices)
    except ValueError:
        raise ValueError(
            f"indices is {describe(indices)} whose rows differ in length: expected ({n}, k); such "
            "lists can be a sparse matrix of distances"
        ) from None
    if table.dtype.kind not in "iu":
        raise TypeError(f"indices is {describe(indices)}: expected whole numbers")
    if table.ndim != 2 or len(table) != n or not table.size:
        raise ValueError(f"indices has shape {table.shape}: expected ({n}, k), one row per point")
    wrong = np.argwhere((table < 0) | (table >= n))
    if len(wrong):
        i, j = wrong[0]
        missing = " (a neighbour that the search did not find?)" if table[i, j] < 0 else ""
        raise ValueError(f"indices[{i}, {j}] is {table[i, j]}{missing}: expected 0 to {n - 1}")
    table = np.sort(table.astype(np.int64), axis=1)
    repeated = np.argwhere(table[:, 1:] == table[:, :-1])
    if len(repeated):
        i, j = repeated[0]
        raise ValueError(f"row {i} of indices has the point {table[i, j]} more than once")
    other = table != np.arange(n)[:, None]
    return Graph("indices", _checked_counts(other.sum(1), "indices"), table[other])


def _graph_of_matrix(matrix: Any, kind: Literal["distances", "affinities"], n: int) -> Graph:
    coo = _as_coo(matrix, kind, n)
    row, column, values = coo.row.astype(np.int64), coo.col.astype(np.int64), coo.data
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        first = wrong[0]
        raise ValueError(
            f"{kind}[{row[first]}, {column[first]}] is {values[first]}: "
            "expected finite numbers of at least 0"
        )
    itself = row == column
    own = np.zeros(n)
    own[row[itself]] = values[itself]
    keep = ~itself
    if kind == "distances" and own.any():
        i = int(np.flatnonzero(own)[0])
        raise ValueError(f"distances[{i}, {i}] is {own[i]}: the distance of a point to itself is 0")
    if kind == "affinities":
        keep &= values > 0
    counts = _checked_counts(np.bincount(row[keep], minlength=n), kind)
    return Graph(kind, counts, column[keep], values[keep], own)


def _as_coo(matrix: Any, kind: str, n: int) -> Any:
    """Return the stored entries of a sparse (n, n) matrix in double precision, row after row."""
    import scipy.sparse  # many MB that clouds without a matrix do not need

    if isinstance(matrix, Tensor) and matrix.layout != torch.strided:
        tensor = matrix.detach().to_sparse_coo().coalesce().cpu()
        places = tensor.indices().numpy()
        matrix = scipy.sparse.coo_array((tensor.values().numpy(), places), tuple(tensor.shape))
    if not scipy.sparse.issparse(matrix):
        raise TypeError(
            f"{kind} is {describe(matrix)}, in which every pair of points has an entry: expected a "
            f"sparse matrix, {_SPARSE_HINT[kind]}"
        )
    if matrix.shape != (n, n):
        raise ValueError(
            f"{kind} has shape {matrix.shape}: expected ({n}, {n}), one row and column per point"
        )
    if matrix.dtype.kind not in "fiub":
        raise TypeError(f"{kind} is a sparse matrix of dtype {matrix.dtype}: expected real numbers")
    rows = scipy.sparse.csr_array(matrix, dtype=np.float64, copy=True)
    rows.sum_duplicates()  # also sorts the columns; stored zeros remain
    return rows.tocoo()


def _checked_counts(counts: np.ndarray, kind: str) -> np.ndarray:
    """Return the number of neighbours of each point, or raise an error if one has none."""
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        more = f" ({len(empty)} such rows)" if len(empty) > 1 else ""
        raise ValueError(f"row {empty[0]} of {kind} has no neighbours of that point{more}")
    return counts


def _lengths(x: Tensor, row: np.ndarray, column: np.ndarray) -> Tensor:
    """Return the distances between pairs of points of (n, D): (m,)."""
    size = max(1, BLOCK // x.shape[1])
    rows, columns = (torch.from_numpy(part).to(x.device).split(size) for part in (row, column))
    blocks = [
        torch.linalg.vector_norm(x[i] - x[j], dim=-1) for i, j in zip(rows, columns, strict=True)
    ]
    return torch.cat(blocks)


def _refuse_connectivity(
    values: np.ndarray, row: np.ndarray, column: np.ndarray, x: Tensor, unit: Tensor
) -> None:
    """Raise an error if distances are all 1, like entries of a graph without distances."""
    if not (values == 1).all():
        return
    lengths = _lengths(x, row, column) * unit.flatten()
    if not bool(((lengths - 1).abs() < 1e-3).all()):
        raise ValueError(
            "distances has only ones, and the points are not at distance 1: expected a graph of "
            'distances, for example kneighbors_graph(points, 15, mode="distance") of scikit-learn'
        )

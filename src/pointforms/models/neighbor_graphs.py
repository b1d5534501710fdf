"""The graph of a cloud, which joins every point with its nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, Literal

import numpy as np
import torch
from scipy.sparse import csr_matrix, eye
from scipy.spatial import cKDTree
from torch import Tensor

from pointforms.clouds import plain_clouds
from pointforms.support.options import Count

#: A number of neighbours, or one that follows the size of each cloud.
Neighbors = Count | Literal["auto"]

# The largest number of neighbours that "auto" chooses: that of the paper.
_MOST = 32


def neighbor_count(neighbors: Neighbors, points: int) -> int:
    """Return the number of neighbours of a point in a cloud of n points, not counting itself.

    "auto" is √n, rounded up, and at most 32. A fixed number makes the graph of a small cloud
    complete: means over all points are then the same at every point, and say nothing about it.

    Examples
    --------
    >>> [neighbor_count("auto", n) for n in (5, 20, 128, 5000)]
    [3, 5, 12, 32]
    >>> neighbor_count(32, 5)
    4
    """
    wanted = min(_MOST, ceil(sqrt(points))) if neighbors == "auto" else neighbors
    return min(wanted, points - 1)


@dataclass(frozen=True)
class CloudGraph:
    """A cloud and its symmetric neighbour lists.

    Attributes
    ----------
    points : (n, D) tensor
    starts : (n + 1,) tensor
        Where the neighbours of each point start in `neighbors`.
    neighbors : (E,) tensor
        The neighbours of each point and the point itself, ascending.
    """

    points: Tensor
    starts: Tensor
    neighbors: Tensor


def cloud_graphs(clouds: Any, neighbors: Neighbors) -> list[CloudGraph]:
    """Return graphs that join two points if one is among the other's nearest neighbours.

    Graphs are returned as they are.

    Parameters
    ----------
    clouds : list of (n_i, D) array, or of CloudGraph
    neighbors : int or "auto"
        Number of neighbours, not counting the point itself; a small cloud has fewer. "auto" follows
        the size of each cloud; see :func:`neighbor_count`.
    """
    if isinstance(clouds, Sequence) and clouds and isinstance(clouds[0], CloudGraph):
        return list(clouds)
    return [_graph(cloud, neighbors) for cloud in plain_clouds(clouds)]


def _graph(points: Tensor, neighbors: Neighbors) -> CloudGraph:
    n = len(points)
    k = 1 + neighbor_count(neighbors, n)
    X = points.cpu().numpy()
    nearest = np.asarray(cKDTree(X).query(X, k)[1]).reshape(n, k)
    near = csr_matrix((np.ones(n * k), nearest.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    joined = (near + near.T + eye(n, format="csr")).tocsr()
    joined.sort_indices()
    return CloudGraph(
        points,
        torch.from_numpy(joined.indptr.astype(np.int64)),
        torch.from_numpy(joined.indices.astype(np.int64)),
    )

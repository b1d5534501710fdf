"""The graph of a cloud, which joins every point with its nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix, eye
from scipy.spatial import cKDTree
from torch import Tensor

from pointforms.clouds import plain_clouds


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


def cloud_graphs(clouds: Any, neighbors: int) -> list[CloudGraph]:
    """Return graphs that join two points if one is among the other's nearest neighbours.

    Graphs are returned as they are.

    Parameters
    ----------
    clouds : list of (n_i, D) array, or of CloudGraph
    neighbors : int
        Number of neighbours, not counting the point itself; a small cloud has fewer.
    """
    if isinstance(clouds, Sequence) and clouds and isinstance(clouds[0], CloudGraph):
        return list(clouds)
    return [_graph(cloud, neighbors) for cloud in plain_clouds(clouds)]


def _graph(points: Tensor, neighbors: int) -> CloudGraph:
    n = len(points)
    k = min(neighbors + 1, n)
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

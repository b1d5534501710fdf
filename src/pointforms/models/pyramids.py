"""The pyramid of a cloud: ever fewer points, far from each other, with their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from pointforms.clouds import plain_clouds
from pointforms.models.batches import CloudStore
from pointforms.nn.stores import PointStore
from pointforms.support.extras import need


@dataclass(frozen=True)
class CloudPyramid:
    """A cloud and its levels; level 0 has all points.

    Attributes
    ----------
    points : (n, D)
    levels : for each, (n_l, 1 + 2 k) whole numbers
        A row is a point: its place on the level below, its neighbours there, and its neighbours
        on its own level, itself first; -1 where a cloud has too few.
    """

    points: Tensor
    levels: tuple[Tensor, ...]


def cloud_pyramids(clouds: Any, ratios: Sequence[float], neighbors: int) -> list[CloudPyramid]:
    """Pyramids of clouds; pyramids pass as they are.

    Parameters
    ----------
    ratios : points of each level for a point of the level below
    neighbors : of a point, itself counted
    """
    if isinstance(clouds, Sequence) and clouds and isinstance(clouds[0], CloudPyramid):
        if len(clouds[0].levels) != 1 + len(ratios):
            raise ValueError(
                f"pyramids of {len(clouds[0].levels)} levels for a network of {1 + len(ratios)}"
            )
        return list(clouds)
    need("fpsample", "graph")
    return [_pyramid(cloud, ratios, neighbors) for cloud in plain_clouds(clouds)]


def _pyramid(points: Tensor, ratios: Sequence[float], neighbors: int) -> CloudPyramid:
    X = points.double().cpu().numpy()
    everyone = np.arange(len(X))
    beside = _nearest(X, X, neighbors)
    levels = [np.column_stack([everyone, beside, beside])]
    for ratio in ratios:
        centres = farthest_points(X, ceil(ratio * len(X)))
        below, X = X, X[centres]
        levels.append(
            np.column_stack([centres, _nearest(below, X, neighbors), _nearest(X, X, neighbors)])
        )
    return CloudPyramid(points, tuple(torch.from_numpy(level) for level in levels))


def farthest_points(X: np.ndarray, count: int) -> np.ndarray:
    """So many points (count,), each the farthest from those before; first, from the mean.

    What is found depends on the points and not on their order.
    """
    import fpsample

    first = int(((X - X.mean(0)) ** 2).sum(1).argmax())
    found: np.ndarray = fpsample.fps_sampling(X, count, start_idx=first).astype(np.int64)
    return found


def _nearest(X: np.ndarray, queries: np.ndarray, count: int) -> np.ndarray:
    """The nearest of X to each query: (m, count), -1 where X has fewer."""
    k = min(count, len(X))
    found = np.full((len(queries), count), -1)
    found[:, :k] = np.asarray(cKDTree(X).query(queries, k)[1]).reshape(len(queries), k)
    return found


@dataclass(frozen=True)
class Level:
    """A level of B pyramids, padded to n points. Places count through the padded batch.

    Attributes
    ----------
    real : (B, n)
        1 for points, 0 for padding.
    centres : (B n,)
        Places on the level below.
    below, beside : (B n, k)
        Places of neighbours on the level below, and on this one.
    has_below, has_beside : (B n, k)
        Whether there is such a neighbour.
    """

    real: Tensor
    centres: Tensor
    below: Tensor
    has_below: Tensor
    beside: Tensor
    has_beside: Tensor


@dataclass(frozen=True)
class PyramidBatch:
    """B clouds, padded to n points, and the levels above them."""

    points: Tensor
    real: Tensor
    levels: tuple[Level, ...]

    def tree(self) -> tuple[Any, ...]:
        return self.points, self.real, self.levels


class PyramidStore(CloudStore):
    """Clouds with their pyramids."""

    stackable = False
    batch: type = PyramidBatch

    def __init__(
        self, pyramids: Sequence[CloudPyramid], dtype: torch.dtype, device: torch.device | str
    ) -> None:
        super().__init__([pyramid.points for pyramid in pyramids], dtype, device)
        self.levels = [
            PointStore(level, torch.long, device)
            for level in zip(*(pyramid.levels for pyramid in pyramids), strict=True)
        ]

    def gather(self, index: Tensor, rows: Tensor | None = None) -> PyramidBatch:
        """The clouds of index (B,), whole: a pyramid has no parts."""
        if rows is not None:
            raise ValueError("points_per_epoch is for networks without graphs")
        place, real = self.places(index)
        levels: list[Level] = []
        for level in self.levels:
            below = levels[-1].real.shape[1] if levels else real.shape[1]
            levels.append(_padded(level, index, below, self.points.dtype))
        return PyramidBatch(self.points[place], real.to(self.points.dtype), tuple(levels))


def _padded(level: PointStore, index: Tensor, below: int, dtype: torch.dtype) -> Level:
    """A level of some clouds, when the one below was padded to so many points."""
    place, real = level.places(index)
    table = level.points[place]  # padding refers to the first point of its cloud, and counts not
    k = (table.shape[-1] - 1) // 2
    cloud = torch.arange(len(index), device=index.device).view(-1, 1, 1)
    has = table >= 0
    lower = table[..., : 1 + k].clamp_min(0) + cloud * below
    own = table[..., 1 + k :].clamp_min(0) + cloud * real.shape[1]
    return Level(
        real.to(dtype),
        lower[..., 0].flatten(),
        lower[..., 1:].flatten(0, 1),
        has[..., 1 : 1 + k].flatten(0, 1),
        own.flatten(0, 1),
        has[..., 1 + k :].flatten(0, 1),
    )

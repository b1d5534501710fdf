"""The pyramid of a cloud: levels of ever fewer points far from each other, with neighbours."""

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
from pointforms.models.batches import WholeCloudStore
from pointforms.nn.frames import Frame
from pointforms.nn.origins import common_origin
from pointforms.nn.point_store import PointStore
from pointforms.support.extras import need

# Distances that differ by less, relative to them, are equal.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class CloudPyramid:
    """A cloud and its levels; level 0 has all points.

    Attributes
    ----------
    points : (n, D) tensor
    levels : tuple of (n_l, 1 + 2 k) tensor of int
        Each row is a point: its position on the level below, its neighbours there, and its
        neighbours on its own level, itself first; -1 where a cloud has too few.
    """

    points: Tensor
    levels: tuple[Tensor, ...]


def cloud_pyramids(clouds: Any, ratios: Sequence[float], neighbors: int) -> list[CloudPyramid]:
    """Return the pyramids of clouds; pyramids are returned as they are.

    Parameters
    ----------
    clouds : list of (n_i, D) array, or of CloudPyramid
    ratios : sequence of float
        Share of the points of a level that the next level keeps.
    neighbors : int
        Number of neighbours of a point, itself included.
    """
    if isinstance(clouds, Sequence) and clouds and isinstance(clouds[0], CloudPyramid):
        if len(clouds[0].levels) != 1 + len(ratios):
            raise ValueError(
                f"the pyramids have {len(clouds[0].levels)} levels, the network {1 + len(ratios)}"
            )
        return list(clouds)
    need("fpsample", "graph")
    return [_pyramid(cloud, ratios, neighbors) for cloud in plain_clouds(clouds)]


def _pyramid(points: Tensor, ratios: Sequence[float], neighbors: int) -> CloudPyramid:
    # the search of farthest points works in single precision
    X = (points.double().cpu() - common_origin([points])).numpy()
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
    """Return positions (count,) of points, each farthest from those before it.

    The first is farthest from the mean, so that the order of the points does not matter. Of several
    that are as far, such as of two points, it is the one with the largest coordinates.
    """
    import fpsample

    distance = ((X - X.mean(0)) ** 2).sum(1)
    farthest = np.flatnonzero(distance >= (1 - _ROUNDING) * distance.max())
    first = int(farthest[np.lexsort(X[farthest].T[::-1])[-1]])
    chosen: np.ndarray = fpsample.fps_sampling(X, count, start_idx=first).astype(np.int64)
    return chosen


def _nearest(X: np.ndarray, queries: np.ndarray, count: int) -> np.ndarray:
    """Return the points of X nearest to each query: (m, count), -1 where X has fewer."""
    k = min(count, len(X))
    places = np.full((len(queries), count), -1)
    places[:, :k] = np.asarray(cKDTree(X).query(queries, k)[1]).reshape(len(queries), k)
    return places


@dataclass(frozen=True)
class Level:
    """A level of B pyramids, the points of all clouds one after the other, without padding.

    A point with fewer neighbours than another repeats its first one, which leaves maxima as they
    are.

    Attributes
    ----------
    sizes : (B,)
        Number of points of each cloud.
    centres : (n,)
        Places on the level below.
    below, beside : (n, k)
        Places of neighbours on the level below, and on this one.
    has_below, has_beside : (n, k) or None
        Which of these are neighbours, and not repeated; None if all are.
    """

    sizes: Tensor
    centres: Tensor
    below: Tensor
    has_below: Tensor | None
    beside: Tensor
    has_beside: Tensor | None

    def owners(self) -> Tensor:
        """Return the cloud of each point: (n,)."""
        clouds = torch.arange(len(self.sizes), device=self.sizes.device)
        return clouds.repeat_interleave(self.sizes)


@dataclass(frozen=True)
class PyramidBatch:
    """Points (n, D) of B clouds, one cloud after the other, and the levels above them."""

    points: Tensor
    levels: tuple[Level, ...]


class PyramidStore(WholeCloudStore):
    """Clouds with their pyramids."""

    def __init__(
        self,
        pyramids: Sequence[CloudPyramid],
        dtype: torch.dtype,
        device: torch.device | str,
        origin: Tensor | None = None,
        unit: Tensor | None = None,
        frame: Frame = "absolute",
        centers: Tensor | None = None,
    ) -> None:
        points = [pyramid.points for pyramid in pyramids]
        super().__init__(points, dtype, device, origin, unit, frame, centers)
        self.levels = [
            PointStore(level, torch.long, device, origin=torch.zeros(()))
            for level in zip(*(pyramid.levels for pyramid in pyramids), strict=True)
        ]

    def gather(self, index: Tensor, rows: Tensor | None = None) -> PyramidBatch:
        """Return the clouds of index (B,), with all of their points."""
        place, real = self.places(index, rows)
        index = index.to(place.device)
        below, levels = self.sizes[index], []
        for level in self.levels:
            levels.append(_level(level, index, below))
            below = levels[-1].sizes
        return PyramidBatch(self.points.index_select(0, place[real]), tuple(levels))


def _level(level: PointStore, index: Tensor, below: Tensor) -> Level:
    """Return a level of some clouds, given how many points each has on the level below."""
    place, real = level.places(index)
    table = level.points.index_select(0, place[real])
    sizes = level.sizes[index]
    k = (table.shape[1] - 1) // 2
    lower, has_below = _neighbors(table[:, 1 : 1 + k], sizes, below)
    own, has_beside = _neighbors(table[:, 1 + k :], sizes, sizes)
    first = (below.cumsum(0) - below).repeat_interleave(sizes)
    return Level(sizes, table[:, 0] + first, lower, has_below, own, has_beside)


def _neighbors(table: Tensor, sizes: Tensor, among: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return the places of neighbours (n, k), and which of them exist, or None if all do.

    Parameters
    ----------
    table : (n, k)
        Neighbours of each point within its cloud, -1 where there are no more.
    sizes, among : (B,)
        Number of points of each cloud, and of those that are neighbours.
    """
    table = table[:, : min(table.shape[1], int(among.max()))]
    first = (among.cumsum(0) - among).repeat_interleave(sizes).unsqueeze(1)
    if int(among.min()) >= table.shape[1]:
        return table + first, None
    has = table >= 0
    return torch.where(has, table, table[:, :1]) + first, has

"""Neighbour lists of one large cloud, of which only the indices are kept.

Distances, weights and differences are computed for some rows at a time, few enough for the CPU
cache, and computed again where they are needed again: that is faster than reading them from memory,
which does not hold an array of all neighbours of all points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from pointforms.geometry.density import scale_without_copies
from pointforms.geometry.neighbors import NeighborLists
from pointforms.geometry.ordered import OrderedCloud
from pointforms.geometry.ties import resolution, shared_lists

# Numbers in the coordinates of all neighbours of one chunk of rows: 2 MB in float64.
CHUNK = 1 << 18


class SearchedLists:
    """The nearest neighbours of every point of an ordered cloud.

    Parameters
    ----------
    cloud : OrderedCloud
        The cloud.
    width : int
        Number of neighbours, the point itself included.
    """

    def __init__(self, cloud: OrderedCloud, width: int) -> None:
        self.cloud, self.width = cloud, width
        self._pieces: list[Tensor | None] = [*cloud.search(width)]

    def chunks(
        self, start: int, stop: int, release: bool = False
    ) -> Iterator[tuple[slice, Tensor]]:
        """Yield slices of rows with columns `start` to `stop` of their lists.

        The indices of a piece are dropped after use if `release`.
        """
        size = max(1, CHUNK // ((stop - start) * len(self.cloud.coordinates)))
        first = 0
        for place, piece in enumerate(self._pieces):
            assert piece is not None
            for index in piece[:, start:stop].split(size):
                yield slice(first, first + len(index)), index
                first += len(index)
            if release:
                self._pieces[place] = None

    def drop(self) -> OrderedCloud:
        """Free the memory of the lists, which cannot be used any more, and return their cloud."""
        self._pieces.clear()
        return self.cloud

    def squared_distances(self, start: int, stop: int) -> Iterator[tuple[slice, Tensor]]:
        """Yield slices of rows with squared distances (R, stop - start)."""
        for rows, index in self.chunks(start, stop):
            yield rows, self.cloud.squared_distances(index, rows.start)

    def local_scale(self, k0: int) -> Tensor:
        """Return r₀ as :func:`pointforms.geometry.density.local_scale` does: (1, n)."""
        sums = [sq.sum(-1) for _, sq in self.squared_distances(0, k0)]
        return scale_without_copies((torch.cat(sums) / (k0 - 1)).sqrt().unsqueeze(0))

    def nearest(self, k: int, merge: bool = True, mass: Tensor | None = None) -> ChunkedLists:
        """Shorten the lists as :func:`pointforms.geometry.ties.nearest` does.

        Parameters
        ----------
        k : int
            Number of neighbours, smaller than the width.
        merge : bool, default True
            List copies of a point once, with their number as a weight.
        mass : Tensor or None, shape (1, n), default None
            Weights of the points, with mean 1.
        """
        last = torch.cat([sq for _, sq in self.squared_distances(k - 1, k + 1)])
        distance = last.sqrt()
        tied = (distance[:, 1] - distance[:, 0] <= resolution(last.dtype)).nonzero().squeeze(-1)
        shared = None
        if len(tied):
            copies = merge and any(bool((sq == 0).any()) for _, sq in self.squared_distances(1, 2))
            points = self.cloud.points[0].contiguous()
            shared = shared_lists(points, tied, k, "tree", copies)
            last[tied, 0] = shared.sq[0, :, -1]
        return ChunkedLists(self, k, tied, shared, last[:, 0], mass)

    def longer_than(self, k: int) -> NeighborLists | None:
        """Return the lists as :meth:`whole` does, if they have more than k neighbours."""
        return self.whole() if self.width > k else None

    def whole(self) -> NeighborLists:
        """Return the lists in memory, in the order of the cloud that was given."""
        order, n = self.cloud.order, len(self.cloud)
        index = torch.empty(n, self.width, dtype=torch.long)
        sq = self.cloud.coordinates.new_empty(n, self.width)
        for rows, part in self.chunks(0, self.width):
            index[order[rows]] = order[part.long()]
            sq[order[rows]] = self.cloud.squared_distances(part, rows.start)
        return NeighborLists(sq.unsqueeze(0), index.unsqueeze(0))


class ChunkedLists:
    """Lists of the k nearest points, where those tied at the last distance share its places.

    Made by :meth:`SearchedLists.nearest`. They are read as :class:`NeighborLists` are.
    """

    complete = False  # never the complete graph

    def __init__(
        self,
        searched: SearchedLists,
        k: int,
        tied: Tensor,
        shared: NeighborLists | None,
        last_sq: Tensor,
        mass: Tensor | None,
    ) -> None:
        self.cloud, self.mass = searched.cloud, mass
        self.last_sq = last_sq.unsqueeze(0)  # (1, n)
        self._searched, self._k, self._tied, self._shared = searched, k, tied, shared

    @property
    def width(self) -> int:
        """Largest number of entries of a list."""
        return self._k if self._shared is None else max(self._k, self._shared.sq.shape[-1])

    def parts(self, release: bool = False) -> Iterator[NeighborLists]:
        """Yield lists of some rows after the other; their neighbours are dropped if `release`."""
        for rows, index in self._searched.chunks(0, self._k, release):
            sq = self.cloud.squared_distances(index, rows.start)
            yield self._with_ties(rows, sq, index)

    @property
    def length(self) -> int:
        """Number of points that each list stands for."""
        return self._k

    def of_rows(self, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the indices and shares (1, m, width) of the lists of some rows (1, m)."""
        index = torch.empty(*rows.shape, self.width, dtype=torch.long)
        share = None if self._shared is None else index.new_empty(index.shape).to(self.last_sq)
        for part in self.parts():
            assert part.rows is not None
            assert part.index is not None
            own = (rows >= part.rows.start) & (rows < part.rows.stop)
            places = rows[own] - part.rows.start
            if share is None:
                index[own] = part.index[0, places].long()
            else:
                _, wide, shares = part.padded(self.width)
                index[own], share[own] = wide[0, places].long(), shares[0, places]
        return index, share

    def sum_of_squares(self) -> Tensor:
        """Return the weighted sum of the squared distances of each list: (1, n)."""
        return by_rows(self, NeighborLists.sum_of_squares)

    def mean(self, values: Tensor) -> Tensor:
        """Average values (1, n) of the points over each list: (1, n)."""
        if self._shared is None and self.mass is None:
            means = [
                values[0].index_select(0, index.flatten()).view_as(index).mean(-1)
                for _, index in self._searched.chunks(0, self._k)
            ]
            return torch.cat(means).unsqueeze(0)
        return by_rows(self, lambda part: part.mean(values))

    def _with_ties(self, rows: slice, sq: Tensor, index: Tensor) -> NeighborLists:
        lists = NeighborLists(sq.unsqueeze(0), index.unsqueeze(0), mass=self.mass, rows=rows)
        if self._shared is None:
            return lists
        low, high = torch.searchsorted(self._tied, torch.tensor([rows.start, rows.stop])).tolist()
        if low == high:
            return lists
        shared, tied = self._shared, self._tied[low:high] - rows.start
        sq, index, share = (part[0] for part in lists.padded(self.width))
        for whole, part in zip((sq, index, share), shared.padded(self.width), strict=True):
            whole[tied] = part[0, low:high].to(whole.dtype)
        return NeighborLists(
            sq.unsqueeze(0), index.unsqueeze(0), share.unsqueeze(0), shared.merged, self.mass, rows
        )


def by_rows(
    lists: NeighborLists | ChunkedLists, values: Callable[[NeighborLists], Tensor]
) -> Tensor:
    """Compute values (..., R) of the lists of some rows after the other: (..., n)."""
    return torch.cat([values(part) for part in lists.parts()], -1)

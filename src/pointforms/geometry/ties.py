"""Share the last places of a neighbour list among points at the same distance.

On grids, counts and other repeated values, more points than a list of k has room for can be equally
far away. Which of them are listed must not depend on their order. If m places are left for t points
at the last distance, every one of the t is listed, with the weight m / t.

Distances count as equal up to rounding errors, so that a rotation of the points breaks no tie.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from pointforms.geometry.neighbors import (
    BLOCK,
    NeighborLists,
    neighbors_of,
    search_method,
)
from pointforms.geometry.settings import Search
from pointforms.support.blame import warn_caller

# Most entries in the lists of one cloud: 128 MB per array in float64.
_MAX_ENTRIES = 1 << 24
# Neighbours beyond k that are searched first where points are tied: shells of small grids fit in.
_EXTRA = 16


def resolution(dtype: torch.dtype) -> float:
    """Return the difference, in own units, up to which two distances count as equal.

    It lies above the rounding errors of centred and rotated points, and below the gaps between the
    distances of points that were drawn from a continuous distribution.
    """
    return float(torch.finfo(dtype).eps ** 0.85)


def nearest(
    lists: NeighborLists, points: Tensor, k: int, search: Search = "auto", merge: bool = True
) -> NeighborLists:
    """Shorten lists to the k nearest points, where points tied at the last distance share.

    Parameters
    ----------
    lists : NeighborLists
        Complete, or of more than k neighbours.
    points : Tensor, shape (B, n, D)
        The clouds, in own units.
    k : int
        Number of neighbours, at most n.
    search : {"auto", "tree", "brute", "approximate"}, default "auto"
        How neighbours are searched. Approximate lists are only shortened.
    merge : bool, default True
        List copies of a point once, with their number as a weight. This needs far less memory, but
        suits only sums over functions of the position.
    """
    n = points.shape[1]
    if k == n:
        return lists
    if lists.index is None:
        lists = lists.sort(k + 1)
    sq, index = lists.sq, lists.index
    assert index is not None
    tied = sq[..., k].sqrt() - sq[..., k - 1].sqrt() <= resolution(sq.dtype)
    lists = NeighborLists(sq[..., :k].contiguous(), index[..., :k].contiguous())
    method = search_method(points, search)
    if method == "approximate" or not bool(tied.any()):
        return lists
    copies = (merge & (sq[..., 1] == 0).any(-1)).tolist()
    shared = {
        b: shared_lists(points[b], tied[b].nonzero().squeeze(-1), k, method, copies[b])
        for b in tied.any(-1).nonzero().flatten().tolist()
    }
    width = max(k, *(one.sq.shape[-1] for one in shared.values()))
    sq, index, share = lists.padded(width)
    for b, one in shared.items():
        sq[b, tied[b]], local, share[b, tied[b]] = (part[0] for part in one.padded(width))
        index[b, tied[b]] = local + b * n
    return NeighborLists(sq, index, share, merged=any(copies[b] for b in shared))


def nearest_of(
    cloud: Tensor,
    rows: Tensor,
    k: int,
    most: int,
    search: Callable[[Tensor, int], tuple[Tensor, Tensor]] | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the neighbours of some points: the k nearest, all tied with them, and some beyond.

    Parameters
    ----------
    cloud : Tensor, shape (n, D)
        The cloud, in own units.
    rows : Tensor of int, shape (m,)
        Some of its points.
    k : int
        Number of neighbours, at most n.
    most : int
        Largest width of the result if many points are tied.
    search : callable or None, default None
        Returns squared distances and indices of the nearest to some rows, given these and their
        number. None computes all distances.

    Returns
    -------
    sq : Tensor, shape (m, w)
        Squared distances, ascending; 0 where they are rounding errors.
    index : Tensor, shape (m, w)
        The neighbours. :func:`shares` has their weights.
    """
    limit = min(len(cloud), max(k + 1, most))
    width = min(k + 1, limit)
    while True:
        sq, index = search(rows, width) if search else neighbors_of(cloud, rows, width)
        gap = sq[:, -1].sqrt() - sq[:, k - 1].sqrt()
        if width == limit or not bool((gap <= resolution(sq.dtype)).any()):
            return torch.where(sq > resolution(sq.dtype) ** 2, sq, 0.0), index
        width = min(2 * width, limit)


def shares(sq: Tensor, k: int, multiplicity: Tensor | None = None) -> Tensor | None:
    """Return the weights with which ascending lists of squared distances stand for k points.

    Parameters
    ----------
    sq : Tensor, shape (..., w)
        Squared distances, ascending, to the k nearest points and all that are tied with them.
    k : int
        Number of points.
    multiplicity : Tensor or None, shape (..., w)
        Number of points at each entry; None stands for 1.

    Returns
    -------
    Tensor or None, shape (..., w)
        Weights that sum to k: the multiplicity before the last distance, equal shares of it at the
        last distance, and 0 beyond. None if the first k entries are the k nearest points.
    """
    if multiplicity is None:
        if sq.shape[-1] == k:
            return None
        last = sq[..., k - 1 : k].sqrt()
        if not bool((sq[..., k : k + 1].sqrt() - last <= resolution(sq.dtype)).any()):
            return None
        distance, multiplicity = sq.sqrt(), torch.ones_like(sq)
    else:
        distance = sq.sqrt()
        last = distance.gather(-1, (multiplicity.cumsum(-1) < k).sum(-1, keepdim=True))
    inside = multiplicity * (distance < last - resolution(sq.dtype))
    edge = multiplicity * (distance <= last + resolution(sq.dtype)) - inside
    left = k - inside.sum(-1, keepdim=True)
    return inside + edge * (left / edge.sum(-1, keepdim=True))


def end_weights(lists: NeighborLists) -> Tensor | None:
    """Return the weights (B, n, k) of the entries at the last distance, which sum to 1.

    None stands for the last entry alone, if nothing is tied with it.
    """
    equal = resolution(lists.sq.dtype)
    if lists.share is None:
        before, last = lists.sq[..., -2:].sqrt().unbind(-1)
        if not bool((last - before <= equal).any()):
            return None
    distance = lists.sq.sqrt()
    weights = (distance >= distance[..., -1:] - equal).to(distance.dtype)
    if lists.share is not None:
        weights *= lists.share
    return weights / weights.sum(-1, keepdim=True)


def shared_lists(cloud: Tensor, rows: Tensor, k: int, method: Search, merge: bool) -> NeighborLists:
    """List the k nearest of m rows of one cloud (n, D), and all tied with them: (1, m, w)."""
    n = len(cloud)
    places, counts = cloud, torch.ones(n, dtype=torch.long, device=cloud.device)
    member = torch.arange(n, device=cloud.device)
    again = torch.arange(len(rows), device=cloud.device)
    if merge:
        places, place, counts = torch.unique(cloud, dim=0, return_inverse=True, return_counts=True)
        member = torch.empty_like(counts).scatter_(0, place, member)
        rows, again = place[rows].unique(return_inverse=True)
    if len(rows) * len(places) < BLOCK:  # a tree would not pay
        method = "brute"
    limit = min(len(places), max(2 * k, _MAX_ENTRIES // n))
    width = min(k + _EXTRA, limit)
    while True:
        sq, index = neighbors_of(places, rows, width, method)
        share = shares(sq, k, counts[index].to(sq.dtype))
        assert share is not None
        open_ended = bool((share[:, -1] > 0).any())
        if width == limit or not open_ended:
            break
        width = min(2 * width, limit)
    if width < len(places) and open_ended:
        warn_caller(
            f"a cloud of {n} points has more than {width} points tied with the {k} nearest "
            "neighbours of one of them: the result depends on the order of the points. Add noise "
            "to the coordinates to break the ties"
        )
    listed = share > 0
    width = int(listed.sum(-1).max())
    # entries beyond those that are tied get the last distance
    sq = torch.where(listed, sq, torch.where(listed, sq, 0.0).amax(-1, keepdim=True))
    index = member[torch.where(listed, index, index[:, :1])]
    sq, index, share = (values[again, :width].unsqueeze(0) for values in (sq, index, share))
    return NeighborLists(sq, index, share)

"""What one cloud says about the dimension and the neighbour count of its Gram field.

The Gram field of a d-manifold is a projector of rank d at every point, so an estimate is the better
the closer it is to such projectors, which takes no knowledge of the manifold. The dimension is
chosen by angles to projectors, see :mod:`pointforms.geometry.projector_angles`, and then the
neighbour count by

    distance(k) = ‖G(p) - Π(p)‖ / √d,

with the projector Π(p) on the top-d eigenspace of G(p), averaged over some points p. What it leaves
out, the angle from Π(p) to the tangent space, is a small part of the error of G.

The distance takes the bandwidth ρ at all points. In large clouds, to save the wide neighbourhoods
of all points, it is computed from lists of 32: exactly up to k = 32; for k = 64 with the mass
beyond the list; and by smoothing for k > 64. Smoothed bandwidths are noisier than those of wide
lists. Their excess at k = 64 is known from both computations there, and falls like 1 / k. If the
distance still falls at the widest of these neighbourhoods, wider ones are measured, up to the whole
cloud.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from pointforms.geometry.chunked import ChunkedLists, SearchedLists, by_rows
from pointforms.geometry.density import listed_log_density, local_scale, log_density
from pointforms.geometry.neighbors import BLOCK, NeighborLists, neighbor_lists
from pointforms.geometry.ordered import OrderedCloud, suits_order
from pointforms.geometry.projector_angles import PER_DIMENSION, Angles, projector_angles
from pointforms.geometry.representatives import representatives
from pointforms.geometry.settings import GramSettings, Search, usual_density_neighbors
from pointforms.geometry.ties import nearest, nearest_of, resolution, shares
from pointforms.geometry.truncation import kept_second_moment
from pointforms.geometry.units import own_units
from pointforms.weights import plain, relative_weights

CANDIDATES = (8, 16, 32, 64, 128, 256)
# The first of them is for clouds of at most this many points.
_FEW = 200
# Length of the lists of all points in clouds of more than the second number of points.
_LIST, _SMALL = 32, 320
# The largest share of its cloud that a neighbourhood has to estimate the dimension, and to be
# compared from the start.
_NARROW, _LOCAL = 0.5, 0.65
# Wider neighbourhoods of large clouds, for the dimension only, and the share of the cloud that
# they may be.
_WIDE, _WIDE_SHARE = (512, 1024), 0.25
# Most neighbours where points have many copies, or more if all lists together have few entries.
_WIDEST, _ENTRIES = 512, 1 << 22
# A wider neighbourhood is tried where the distance falls to this share with the last doubling.
_FALLING = 0.95
# The distances are averages over one point in 12, within bounds.
_POINTS_PER_ROW, _MIN_ROWS, _MAX_ROWS = 12, 32, 128
_BETA = GramSettings.beta


class Evidence:
    """Distances between the Gram field of one cloud and projectors, at each candidate count.

    Parameters
    ----------
    cloud : Tensor, shape (n, D)
        The cloud, of which copies of a point count once: they have no direction. The weights that
        it carries count in kernels and densities.
    search : {"auto", "tree", "brute", "approximate"}, default "auto"
        How the neighbours of all points are searched.
    """

    def __init__(self, cloud: Tensor, search: Search = "auto") -> None:
        self._search, self._size = search, len(cloud)
        mass = relative_weights(cloud)
        self._look_around(plain(cloud), None if mass is None else mass.to(cloud.dtype))
        if self._sees_copies():
            distinct, member = _distinct(self._points[0])
            joint = None
            if self._mass is not None:
                joint = self._mass.new_zeros(len(distinct)).index_add(0, member, self._mass)
                joint = joint / joint.mean()
            for name in ("lists", "chunked_lists"):
                vars(self).pop(name, None)
            self._look_around(distinct, joint)

    def _look_around(self, cloud: Tensor, mass: Tensor | None) -> None:
        """Choose some points, and find their neighbourhoods of each count."""
        self._ordered = OrderedCloud(cloud) if suits_order(cloud, self._search) else None
        if self._ordered is None:
            self._points, self._mass = own_units(cloud.unsqueeze(0))[0], mass
        else:
            self._points = self._ordered.points
            self._mass = None if mass is None else mass[self._ordered.order]
        n, D = self._points.shape[1:]
        # a small cloud has nothing to compare
        limit = max(_LIST, int(_LOCAL * n)) if n > _LIST else 0
        candidates = CANDIDATES[0 if n <= _FEW else 1 :]
        self.counts = [k for k in candidates if k <= limit]
        counts = self.counts or [min(n, CANDIDATES[1])]
        numbers = 4 * BLOCK // D  # limits the memory of wide neighbourhoods
        rows = max(_MIN_ROWS, min(_MAX_ROWS, n // _POINTS_PER_ROW))
        rows = min(rows, max(1, numbers // counts[-1]))
        self._rows = representatives(self._points, rows, self._scale)[0]
        if n <= _SMALL:
            self.lists = _sorted_lists(self._points, counts[-1] + 1, self._search)
        wide = [k for k in _WIDE if k <= _WIDE_SHARE * n and k * rows <= numbers]
        self._neighborhoods = self._nearest([*counts, *wide])

    def _sees_copies(self) -> bool:
        [narrowest, *_] = self._neighborhoods.values()
        return bool((narrowest.sq[:, 1] == 0).any())

    def searched(self, k: int) -> NeighborLists | None:
        """Return lists of more than k neighbours of every point, if they were needed."""
        if self._ordered is not None:
            chunked = self.searched_in_chunks()
            return None if chunked is None else chunked.longer_than(k)
        if "lists" not in vars(self) or self._points.shape[1] < self._size:
            return None
        return self.lists if self.lists.sq.shape[-1] > k else None

    def searched_in_chunks(self) -> SearchedLists | None:
        """Return the lists of a large cloud, if they were needed."""
        if "chunked_lists" not in vars(self) or self._points.shape[1] < self._size:
            return None
        return self.chunked_lists

    @cached_property
    def lists(self) -> NeighborLists:
        """The nearest neighbours of every point, ascending, in own units."""
        return _sorted_lists(self._points, _LIST + 1, self._search)

    @cached_property
    def chunked_lists(self) -> SearchedLists:
        """The same for a large cloud."""
        assert self._ordered is not None
        return SearchedLists(self._ordered, _LIST + 1)

    def angles(self) -> Angles:
        """Return the angles to projectors at each candidate count, and at wider ones.

        The kernel has the width of each neighbourhood, which needs no dimension. At a count that
        the cloud is too small for, the angles are those of its widest neighbourhoods.
        """
        n, near = self._points.shape[1], self._neighborhoods
        counts = tuple(k for k in near if k <= max(_NARROW * n, CANDIDATES[1]))
        covariances = [near[k].covariance(near[k].sq / (4 * near[k].r0.square())) for k in counts]
        features = self._points.shape[2]
        angles = projector_angles(_spectra(covariances).cpu().numpy(), counts, features)
        asked = (*CANDIDATES, *_WIDE)
        places = [max(0, sum(j <= k for j in counts) - 1) for k in asked]
        return replace(
            angles,
            counts=asked,
            sine=angles.sine[places],
            spread_sine=angles.spread_sine[places],
            share=angles.share[places],
        )

    def distances(self, dimension: int) -> dict[int, float]:
        """Return the distance to projectors of rank d by the neighbour count k ≥ 4 d."""
        counts = [k for k in self.counts if k >= PER_DIMENSION * dimension]
        if dimension > 1:  # the narrowest neighbourhoods are for curves of few points
            counts = [k for k in counts if k > CANDIDATES[0]]
        n = self._points.shape[1]
        if not counts and n < min(self._size, _LIST):  # a few points with many copies
            counts = [n]
        if len(counts) < 2:  # nothing to choose
            return {self._with_copies(k): 0.0 for k in counts}
        d = self._points.new_full((1, 1), float(dimension))
        widest = counts[-1]
        if n <= _SMALL:
            result = self._exact_distances(counts, d)
        else:
            result = self._distances_by_short_lists(widest, d)
        before = counts[-2]
        while widest < min(n, CANDIDATES[-1]) and result[widest] < _FALLING * result[before]:
            before, widest = widest, min(n, 2 * widest)
            result |= self._exact_distances([widest], d)
        return {self._with_copies(k): result[k] for k in sorted(result) if k >= counts[0]}

    def _with_copies(self, k: int) -> int:
        """Return how many points of the cloud k distinct ones are, as a rule."""
        n, size = self._points.shape[1], self._size
        if n == size:
            return k
        return min(size, max(_WIDEST, _ENTRIES // size), round(k * size / n))

    def _exact_distances(self, counts: list[int], d: Tensor) -> dict[int, float]:
        """Return the distances by the neighbour count, from lists of that length."""
        if self.lists.sq.shape[-1] < min(counts[-1] + 1, self._points.shape[1]):
            self.lists = _sorted_lists(self._points, CANDIDATES[-1] + 1, self._search)
        lists, scales = self.lists, {}
        for k0 in {usual_density_neighbors(k) for k in counts}:
            scales[k0] = local_scale(lists.nearest_sq(k0))
        densities = [
            listed_log_density(self._shortened(lists, k), scales[usual_density_neighbors(k)], d)
            for k in counts
        ]
        listed = all(k in self._neighborhoods for k in counts)
        near = self._neighborhoods if listed else self._nearest(counts)
        found = self._distances([near[k] for k in counts], densities, d)
        return dict(zip(counts, found, strict=True))

    def _distances_by_short_lists(self, widest: int, d: Tensor) -> dict[int, float]:
        """Return the distances up to k = `widest` from lists of 32: see the module."""
        half, full = (self._short_lists(k) for k in (_LIST // 2, _LIST))
        narrow, wide = (self._local_scale(k0) for k0 in (8, 16))

        def both(part: NeighborLists) -> Tensor:
            return torch.stack([listed_log_density(part, narrow, d), log_density(part, wide, d)[1]])

        exact = [
            by_rows(half, lambda part: listed_log_density(part, narrow, d)),
            *by_rows(full, both),
        ]
        smooth = [half.mean(exact[1])]
        smooth.append(full.mean(smooth[0]))
        if widest > 128:
            smooth.append(full.mean(full.mean(smooth[1])))
        counts = [16, 32, 64, 64, 128, 256][: 3 + len(smooth)]
        near = [self._neighborhoods[k] for k in counts]
        found = self._distances(near, [*exact, *smooth], d)
        result = dict(zip(counts[:3], found[:3], strict=True))
        excess = max(0.0, found[3] ** 2 - found[2] ** 2)
        for k, distance in zip(counts[4:], found[4:], strict=True):
            result[k] = max(0.0, distance**2 - excess * 64 / k) ** 0.5
        return result

    def _short_lists(self, k: int) -> NeighborLists | ChunkedLists:
        """Return the k ≤ 32 nearest neighbours of every point."""
        if self._ordered is None:
            return self._shortened(self.lists, k)
        mass = None if self._mass is None else self._mass.unsqueeze(0)
        return self.chunked_lists.nearest(k, merge=mass is None, mass=mass)

    def _local_scale(self, k0: int) -> Tensor:
        """Return r₀ from k₀ ≤ 32 neighbours at every point."""
        if self._ordered is None:
            return local_scale(self.lists.nearest_sq(k0))
        return self.chunked_lists.local_scale(k0)

    def _shortened(self, lists: NeighborLists, k: int) -> NeighborLists:
        """Return lists of the k nearest points, with the masses of these."""
        if self._mass is None:
            return nearest(lists, self._points, k)
        short = nearest(lists, self._points, k, merge=False)
        return replace(short, mass=self._mass.unsqueeze(0))

    def _nearest(self, counts: list[int]) -> dict[int, _Neighborhoods]:
        """Return the neighbourhoods of the chosen points, of each count."""
        x, rows = self._points[0], self._rows
        found = self._listed(counts[-1]) if len(x) <= _SMALL else None
        if found is None:
            search = None if self._ordered is None else self._ordered.neighbors_of
            most = 4 * BLOCK // (len(rows) * x.shape[1])
            found = nearest_of(x, rows, counts[-1], most, search)
        sq, index = found
        z = x[index] - x[rows].unsqueeze(1)
        gaps = sq.sqrt().diff() <= resolution(sq.dtype)
        tied = bool(gaps[:, counts[0] - 1 :].any())
        scales = {}
        for k0 in {usual_density_neighbors(k) for k in counts}:
            scales[k0] = local_scale(sq[:, :k0].unsqueeze(0))[0].unsqueeze(-1)
        near = {}
        for k in counts:
            share = shares(sq, k) if tied else None
            width = k if share is None else sq.shape[1]
            if self._mass is not None:
                mass = self._mass[index[:, :width]]
                share = mass if share is None else share * mass
            # nothing is cut off where every point is a neighbour
            last = sq[:, k - 1 : k] if k < len(x) else torch.full_like(sq[:, :1], torch.inf)
            r0 = scales[usual_density_neighbors(k)]
            near[k] = _Neighborhoods(sq[:, :width], index[:, :width], z[:, :width], share, r0, last)
        return near

    def _listed(self, k: int) -> tuple[Tensor, Tensor] | None:
        """Return the lists of the chosen points, if they have the k nearest and all tied ones."""
        lists, n = self.lists, self._points.shape[1]
        assert lists.index is not None
        sq = lists.sq[0, self._rows]
        width = sq.shape[1]
        if width < min(k + 1, n):
            return None
        if width < n and bool(
            (sq[:, -1].sqrt() - sq[:, k - 1].sqrt() <= resolution(sq.dtype)).any()
        ):
            return None
        return torch.where(sq > resolution(sq.dtype) ** 2, sq, 0.0), lists.index[0, self._rows]

    def _distances(
        self, neighborhoods: list[_Neighborhoods], densities: list[Tensor], d: Tensor
    ) -> list[float]:
        """Return the mean of ‖G - Π‖ / √d with ρ ∝ q^β for each log q (1, n)."""
        covariances, rates, last = [], [], []
        for near, log_q in zip(neighborhoods, densities, strict=True):
            log_rho = _BETA * log_q[0]
            log_rho = log_rho + (near.r0.log().mean() - log_rho[self._rows].mean())
            own = log_rho[self._rows].unsqueeze(-1)
            exponent = near.sq * torch.exp(-own - log_rho[near.index]) / 4
            covariances.append(near.covariance(exponent))
            rates.append(torch.exp(-2 * own))
            last.append(near.last)
        rate = torch.stack(rates)
        kept = kept_second_moment(d, torch.stack(last) * rate / 4)
        values = (_spectra(covariances) * (rate / kept)).cpu().numpy()
        rank = int(d)
        trace = values.sum(-1).mean(1)[:, None, None]
        values *= rank / np.where(trace > 0, trace, 1.0)
        values[..., :rank] -= 1
        distances: list[float] = (np.linalg.norm(values, axis=-1).mean(1) / rank**0.5).tolist()
        return distances

    def _scale(self) -> Tensor:
        count = min(self._points.shape[1], CANDIDATES[1])
        if self._ordered is not None:
            return self._local_scale(count)
        return local_scale(neighbor_lists(self._points, count).nearest_sq(count))


@dataclass(frozen=True)
class _Neighborhoods:
    """The k nearest neighbours of m points; those tied at the last distance share its places."""

    sq: Tensor  # (m, w), squared distances, ascending
    index: Tensor  # (m, w), the neighbours
    z: Tensor  # (m, w, D), their positions relative to the point
    share: Tensor | None  # (m, w), their weights
    r0: Tensor  # (m, 1), the local scale
    last: Tensor  # (m, 1), the last squared distance

    def covariance(self, exponent: Tensor) -> Tensor:
        """Return covariances with the kernel exp(-exponent) (m, w), or Gram matrices if smaller.

        They have the same positive eigenvalues: (m, D, D), or (m, w, w) where w < D.
        """
        w = torch.exp(-exponent)
        w = w if self.share is None else w * self.share
        w = w / w.sum(-1, keepdim=True)
        mean = w.unsqueeze(1) @ self.z
        if self.z.shape[1] < self.z.shape[2]:
            columns = (self.z - mean) * w.sqrt().unsqueeze(-1)
            return columns @ columns.mT
        return self.z.mT @ (self.z * w.unsqueeze(-1)) - mean.mT @ mean


def _distinct(points: Tensor) -> tuple[Tensor, Tensor]:
    """Return points (n, D), in own units, without copies up to rounding errors, in any order.

    The second tensor (n,) has the place of each point among them.
    """
    cell = 64 * resolution(points.dtype)
    _, member = torch.unique((points / cell).round(), dim=0, return_inverse=True)
    first = torch.full((int(member.max()) + 1,), len(points), device=points.device)
    places = torch.arange(len(points), device=points.device)
    distinct: Tensor = points[first.scatter_reduce(0, member, places, "amin")]
    return distinct, member


def _sorted_lists(points: Tensor, k: int, search: Search) -> NeighborLists:
    lists = neighbor_lists(points, k, search)
    return lists.sort(points.shape[1]) if lists.complete else lists


def _spectra(matrices: list[Tensor]) -> Tensor:
    """Return eigenvalues of matrices (m, r, r), descending: (matrices, m, largest r).

    Those missing in smaller matrices are 0.
    """
    largest = max(one.shape[-1] for one in matrices)
    if all(one.shape[-1] == largest for one in matrices):
        return _descending(torch.stack(matrices))
    values = [_descending(one) for one in matrices]
    pads = [(0, largest - one.shape[-1]) for one in values]
    return torch.stack(
        [torch.nn.functional.pad(one, pad) for one, pad in zip(values, pads, strict=True)]
    )


def _descending(matrices: Tensor) -> Tensor:
    values: Tensor = torch.linalg.eigvalsh(matrices)
    return values.flip(-1).clamp_min(0)

"""What one cloud says about the dimension and the neighbour count of its Gram field.

The Gram field of a d-manifold is a projector of rank d at every point, so an estimate is the better
the closer it is to such projectors. Both distances below need no knowledge of the manifold:

    sine(k, d)      of the angle between G(p) and the nearest multiple of a projector of rank d,
                    sqrt(1 - (λ_1 + ... + λ_d)² / (d (λ_1² + ... + λ_D²))), which chooses d, and
    distance(k)     ‖G(p) - Π(p)‖ / √d with the projector Π(p) on the top-d eigenspace, which
                    chooses k once d is known,

averaged over some points p. What they leave out, the angle from Π(p) to the tangent space, is a
small part of the error ‖G - projector on the tangent space‖.

In many dimensions few points spread the d large eigenvalues, between (1 ± √(d/k))² (Marchenko and
Pastur 1967), so that the last of them look small. The k with the smallest sine for any d is
therefore asked again, by the angle to projectors whose eigenvalues are spread so.

The angle is measured on kernel-weighted covariances, whose kernel has the width of each
neighbourhood and needs no dimension. The distance is measured on the field itself, which takes the
bandwidth ρ at all points. To save the wide neighbourhoods of all points, ρ is computed from
lists of 32: exactly up to k = 32; for k = 64 with the mass beyond the list; and by smoothing for
k > 64. Smoothed bandwidths are noisier than those of wide lists. Their excess at k = 64 is
known from both computations there, and falls like 1 / k. Only where the best neighbourhood is most
of its cloud, wider ones are measured, up to the whole cloud and with their own lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from pointforms.geometry.density import local_scale, log_density
from pointforms.geometry.neighbors import BLOCK, NeighborLists, neighbor_lists
from pointforms.geometry.representatives import representatives
from pointforms.geometry.settings import GramSettings, Search
from pointforms.geometry.ties import nearest, nearest_of, resolution, shares
from pointforms.geometry.truncation import kept_second_moment
from pointforms.geometry.units import own_units

CANDIDATES = (16, 32, 64, 128, 256)
#: Neighbours per dimension that a tangent space takes.
PER_DIMENSION = 4
# Length of the lists of all points.
_LIST = 32
# A wider neighbourhood than this share of its cloud is not local.
_LOCAL = 0.6
# A wider neighbourhood is tried where the distance falls to this share with the last doubling.
_FALLING = 0.9
# The distances are averages over one point in 10, within bounds.
_POINTS_PER_ROW, _MIN_ROWS, _MAX_ROWS = 10, 32, 128
# The spread of eigenvalues in γ = c d / k, with the effective k of the kernel: calibrated on flat
# samples, spheres and rotations of 1 to 12 dimensions.
_SPREAD = 0.25
_BETA = GramSettings.beta


@dataclass(frozen=True)
class Angles:
    """Angles between neighbourhoods and projectors of rank 1 to r, at each candidate count.

    At a count that the cloud is too small for, they are those of its widest neighbourhoods.

    Attributes
    ----------
    sine : Tensor, shape (candidates, r)
        Mean sine of the angle to the nearest projector of each rank; 1, the largest there is, for
        ranks above a quarter of the count, which cannot be told.
    spread_sine : Tensor, shape (candidates, r)
        The same for projectors whose eigenvalues are spread as by a sample.
    share : Tensor, shape (candidates, r)
        Share of the points whose nearest projector of the second kind has that rank.
    """

    sine: Tensor
    spread_sine: Tensor
    share: Tensor

    def table(self, ranks: int) -> Tensor:
        """Return the three tables, with more ranks that cannot be told: (3, candidates, ranks)."""
        more = (0, ranks - self.sine.shape[1])
        sines = torch.stack([self.sine, self.spread_sine])
        return torch.cat(
            [
                torch.nn.functional.pad(sines, more, value=1.0),
                torch.nn.functional.pad(self.share, more).unsqueeze(0),
            ]
        )


def nearest_rank(*clouds: Angles) -> tuple[int, float]:
    """Return the rank of the nearest projectors to several clouds, and the share that agrees."""
    ranks = max(angles.sine.shape[1] for angles in clouds)
    sine, spread_sine, share = torch.stack([angles.table(ranks) for angles in clouds]).mean(0)
    count = int(sine.amin(-1).argmin())
    rank = int(spread_sine[count].argmin())
    return rank + 1, float(share[count, rank])


class Evidence:
    """Distances between the Gram field of one cloud and projectors, at each candidate count.

    Parameters
    ----------
    cloud : Tensor, shape (n, D)
        The cloud, of which copies of a point count once: they have no direction.
    search : {"auto", "tree", "brute", "approximate"}, default "auto"
        How the neighbours of all points are searched.
    """

    def __init__(self, cloud: Tensor, search: Search = "auto") -> None:
        self._points, self._search = own_units(cloud.unsqueeze(0))[0], search
        self._size = len(cloud)
        self._look_around()
        if self._sees_copies():
            self._points = _distinct(self._points[0]).unsqueeze(0)
            self._look_around()

    def _look_around(self) -> None:
        """Choose some points, and find their neighbourhoods of each count."""
        n, D = self._points.shape[1:]
        # a small cloud has nothing to compare
        limit = max(_LIST, int(_LOCAL * n)) if n > _LIST else 0
        self.counts = [k for k in CANDIDATES if k <= limit]
        widest = self.counts[-1] if self.counts else min(n, CANDIDATES[0])
        most = 4 * BLOCK // (widest * D)  # limits the memory of wide neighbourhoods
        rows = max(_MIN_ROWS, min(_MAX_ROWS, n // _POINTS_PER_ROW))
        self._rows = representatives(self._points, min(rows, max(1, most)), self._scale)[0]
        self._neighborhoods = self._nearest(self.counts or [widest])

    def _sees_copies(self) -> bool:
        [narrowest, *_] = self._neighborhoods.values()
        return bool((narrowest.sq[:, 1] == 0).any())

    def searched(self, k: int) -> NeighborLists | None:
        """Return lists of more than k neighbours of every point, if they were needed."""
        if k > _LIST or "lists" not in vars(self) or self._points.shape[1] < self._size:
            return None
        return self.lists

    @cached_property
    def lists(self) -> NeighborLists:
        """The nearest neighbours of every point, in own units."""
        return _sorted_lists(self._points, _LIST + 1, self._search)

    def angles(self) -> Angles:
        """Return the angles to projectors at each candidate count."""
        near = self._neighborhoods
        counts = list(near)
        weights = [near[k].weights(near[k].sq / (4 * near[k].r0.square())) for k in counts]
        values = _spectra([near[k].covariance(w) for k, w in zip(counts, weights, strict=True)])
        effective = torch.stack([1 / w.square().sum(-1).mean() for w in weights])
        most = max(1, min(values.shape[-1], counts[-1] // PER_DIMENSION))
        told = torch.arange(1, most + 1).unsqueeze(0) <= torch.tensor(
            [[max(1, k // PER_DIMENSION)] for k in counts]
        )
        told = told.to(values.device)
        norm = values.norm(dim=-1, keepdim=True)
        # a neighbourhood of copies has no direction: it is equally far from all projectors
        directions = values / torch.where(norm > 0, norm, 1.0)
        plain, spread = (
            (directions @ _projector_spectra(most, values.shape[-1], gamma).mT).clamp_max(1.0)
            for gamma in (torch.zeros_like(effective), _SPREAD / effective)
        )
        sines = [
            torch.where(told, (1 - cosine.square()).sqrt().mean(1), 1.0)
            for cosine in (plain, spread)
        ]
        best = torch.where(told.unsqueeze(1), spread, -1.0).argmax(-1)
        varied = norm > 0
        share = (torch.nn.functional.one_hot(best, most) * varied).sum(1) / varied.sum(1).clamp_min(
            1
        )
        places = [max(0, sum(j <= k for j in counts) - 1) for k in CANDIDATES]
        return Angles(sines[0][places], sines[1][places], share.to(values)[places])

    def distances(self, dimension: int) -> dict[int, float]:
        """Return the distance to projectors of rank d by the neighbour count k ≥ 4 d."""
        counts = [k for k in self.counts if k >= PER_DIMENSION * dimension]
        if len(counts) < 2:  # nothing to choose
            return dict.fromkeys(counts, 0.0)
        d = self._points.new_full((1, 1), float(dimension))
        half, full = (nearest(self.lists, self._points, k) for k in (_LIST // 2, _LIST))
        r0 = {k0: local_scale(self.lists.nearest_sq(k0)) for k0 in (8, 16)}
        densities = {
            16: log_density(half, r0[8], d)[0],
            32: log_density(full, r0[8], d)[0],
            64: log_density(full, r0[16], d)[1],
        }
        wanted = {*counts, 64} if counts[-1] > 64 else {*counts}
        narrow = {k: log_q for k, log_q in densities.items() if k in wanted}
        result = self._distances(self._neighborhoods, narrow, d)
        if counts[-1] > 64:
            smooth = {64: half.mean(densities[32])}
            smooth[128] = full.mean(smooth[64])
            smooth[256] = full.mean(full.mean(smooth[128]))
            wider = [k for k in counts if k > 64]
            found = self._distances(self._neighborhoods, {k: smooth[k] for k in (64, *wider)}, d)
            excess = max(0.0, found[64] ** 2 - result[64] ** 2)
            result |= {k: max(0.0, found[k] ** 2 - excess * 64 / k) ** 0.5 for k in wider}
        last, before = counts[-1], counts[-2]
        if last < CANDIDATES[-1] and result[last] < _FALLING * result[before]:
            result |= self._distances_beyond(last, d)
        return {k: distance for k, distance in result.items() if k >= counts[0]}

    def _distances_beyond(self, k: int, d: Tensor) -> dict[int, float]:
        """Return the distances at k and wider, up to all points, from lists of that length."""
        n = self._points.shape[1]
        counts = sorted({min(n, j) for j in CANDIDATES if j >= k})
        lists = _sorted_lists(self._points, counts[-1] + 1, self._search)
        densities = {}
        for j in counts:
            r0 = local_scale(lists.nearest_sq(_scale_neighbors(j)))
            densities[j] = log_density(nearest(lists, self._points, j), r0, d)[0]
        return self._distances(self._nearest(counts), densities, d)

    def _nearest(self, counts: list[int]) -> dict[int, _Neighborhoods]:
        """Return the neighbourhoods of the chosen points, of each count."""
        x, rows = self._points[0], self._rows
        sq, index = nearest_of(x, rows, counts[-1], 4 * BLOCK // (len(rows) * x.shape[1]))
        z = x[index] - x[rows].unsqueeze(1)
        return {k: _Neighborhoods.nearest(sq, index, z, k, len(x)) for k in counts}

    def _distances(
        self, neighborhoods: dict[int, _Neighborhoods], densities: dict[int, Tensor], d: Tensor
    ) -> dict[int, float]:
        """Return the mean of ‖G - Π‖ / √d with ρ ∝ q^β, by the neighbour count."""
        covariances, rates, last = [], [], []
        for k, log_q in densities.items():
            near = neighborhoods[k]
            log_rho = _BETA * log_q[0]
            log_rho = log_rho + (near.r0.log().mean() - log_rho[self._rows].mean())
            own = log_rho[self._rows].unsqueeze(-1)
            exponent = near.sq * torch.exp(-own - log_rho[near.index]) / 4
            covariances.append(near.covariance(near.weights(exponent)))
            rates.append(torch.exp(-2 * own))
            last.append(near.last)
        rate = torch.stack(rates)
        kept = kept_second_moment(d, torch.stack(last) * rate / 4)
        values = _spectra(covariances) * (rate / kept)
        trace = values.sum(-1).mean(1).clamp_min(torch.finfo(values.dtype).tiny)
        values = values * (d / trace).view(-1, 1, 1)
        values[..., : int(d)] -= 1
        distances = (values.norm(dim=-1).mean(1) / d.sqrt()).flatten().tolist()
        return dict(zip(densities, distances, strict=True))

    def _scale(self) -> Tensor:
        count = min(self._points.shape[1], CANDIDATES[0])
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

    @classmethod
    def nearest(cls, sq: Tensor, index: Tensor, z: Tensor, k: int, n: int) -> _Neighborhoods:
        share = shares(sq, k)
        r0 = local_scale(sq[:, : _scale_neighbors(k)].unsqueeze(0))[0].unsqueeze(-1)
        # nothing is cut off where every point is a neighbour
        last = sq[:, k - 1 : k] if k < n else torch.full_like(r0, torch.inf)
        if share is not None:
            return cls(sq, index, z, share, r0, last)
        return cls(sq[:, :k], index[:, :k], z[:, :k], None, r0, last)

    def weights(self, exponent: Tensor) -> Tensor:
        """Return the kernel exp(-exponent) of the neighbours, normalised: (m, w)."""
        w = torch.exp(-exponent)
        w = w if self.share is None else w * self.share
        return w / w.sum(-1, keepdim=True)

    def covariance(self, w: Tensor) -> Tensor:
        """Return covariances with weights (m, w), or Gram matrices where they are smaller.

        They have the same positive eigenvalues: (m, D, D), or (m, w, w) where w < D.
        """
        mean = w.unsqueeze(1) @ self.z
        if self.z.shape[1] < self.z.shape[2]:
            columns = (self.z - mean) * w.sqrt().unsqueeze(-1)
            return columns @ columns.mT
        return self.z.mT @ (self.z * w.unsqueeze(-1)) - mean.mT @ mean


def _projector_spectra(ranks: int, length: int, gamma: Tensor) -> Tensor:
    """Return spectra of projectors of rank 1 to `ranks`, as unit vectors: (counts, ranks, length).

    That of rank d falls evenly from (1 + √(γ d))² to (1 - √(γ d))², for γ (counts,).
    """
    d = torch.arange(1, ranks + 1, device=gamma.device).to(gamma)
    root = (gamma.unsqueeze(-1) * d).sqrt().clamp_max(1.0).unsqueeze(-1)
    place = (torch.arange(length, device=gamma.device).to(gamma) + 0.5) / d.unsqueeze(-1)
    spectra = torch.where(place < 1, (1 + root).square() - 4 * root * place, 0.0)
    return spectra / spectra.norm(dim=-1, keepdim=True)


def _distinct(points: Tensor) -> Tensor:
    """Return points (n, D), in own units, without copies up to rounding errors, in any order."""
    cell = 64 * resolution(points.dtype)
    _, member = torch.unique((points / cell).round(), dim=0, return_inverse=True)
    first = torch.full((int(member.max()) + 1,), len(points), device=points.device)
    places = torch.arange(len(points), device=points.device)
    distinct: Tensor = points[first.scatter_reduce(0, member, places, "amin")]
    return distinct


def _sorted_lists(points: Tensor, k: int, search: Search) -> NeighborLists:
    lists = neighbor_lists(points, k, search)
    return lists.sort(points.shape[1]) if lists.complete else lists


def _scale_neighbors(k: int) -> int:
    return GramSettings(neighbors=k).density_list_length(k)


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

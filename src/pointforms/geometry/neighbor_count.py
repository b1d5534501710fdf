"""Choose the number of neighbours from the data, for neighbors="auto".

A wide neighbourhood averages noise away, a narrow one follows curvature. For each candidate count
k and a sample of the points, the top-d eigenspace T_k of the local covariance is estimated, with

    spread(k)  the standard error of the regression of normal on tangential coordinates,
               sqrt(λ_normal / (λ_d (k_eff - d - 1))), and
    bias(k)    the angle by which T_k leaves the spread of a narrower T_j,
               max_j [∠(T_k, T_j) - c spread(j)]₊,

and the count with the smallest bias + c spread is chosen (Goldenshluger and Lepski 2011). Among
counts with nearly the same score, the largest is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from pointforms.geometry.density import local_scale
from pointforms.geometry.factor import leading_directions
from pointforms.geometry.neighbors import BLOCK, neighbor_lists
from pointforms.geometry.representatives import representatives
from pointforms.geometry.ties import nearest_of, shares
from pointforms.geometry.units import own_units

CANDIDATES = (16, 32, 64, 128, 256)
_MIN_POINTS, _MAX_POINTS = 16, 128
# c, and the ratio up to which scores count as the same: calibrated on circles, curves, spheres,
# tori and rolls, with and without noise.
_SPREADS = 1.5
_ALIKE = 1.1
# Relative variance below which eigenvalues no longer differ.
_GAP_FLOOR = 1e-3
_USUAL = 32
_PARTS = 4


def choose_neighbors(cloud: Tensor, dimension: int | None = None) -> int:
    """Return the neighbour count, among CANDIDATES, that best resolves the tangents of (n, D)."""
    n, D = cloud.shape
    widest = max(n // _PARTS, CANDIDATES[0])  # a neighbourhood is a part of its cloud
    counts = [k for k in CANDIDATES if 4 * (dimension or 1) <= k < n and k <= widest]
    if not counts or D == 1 or dimension == D:  # no tangent to estimate: the usual count, or more
        return min(n, max(_USUAL, 4 * (dimension or 1)))
    x = own_units(cloud.unsqueeze(0))[0]
    most = 4 * BLOCK // (counts[-1] * D)  # limits the memory of wide neighbourhoods
    rows = representatives(
        x,
        max(_MIN_POINTS, min(_MAX_POINTS, most)),
        lambda: local_scale(neighbor_lists(x, counts[0]).nearest_sq(counts[0])),
    )[0]
    sq, index = nearest_of(x[0], rows, counts[-1], 4 * BLOCK // (len(rows) * D))
    neighborhoods = x[0][index]
    scales = {k: _local_spectrum(neighborhoods, sq, k) for k in counts}

    d = dimension or _widest_gap(scales)
    counts = [k for k in counts if 4 * d <= k]
    spread = {k: scales[k].spread(d) for k in counts}
    score = {}
    for k in counts:
        narrower = [_angle(scales[k], scales[j], d) - _SPREADS * spread[j] for j in counts if j < k]
        score[k] = max([0.0, *narrower]) + _SPREADS * spread[k]
    return max(k for k in counts if score[k] <= _ALIKE * min(score.values()))


@dataclass(frozen=True)
class _Spectrum:
    """Local covariances of m neighbourhoods at one scale."""

    values: Tensor  # (m, r), descending
    directions: Tensor  # (m, D, r)
    trace: Tensor  # (m,)
    effective: Tensor  # (m,), 1 / Σ w², the effective number of neighbours

    def determined(self, d: int) -> Tensor:
        """Return whether more than rounding errors separate the d-th eigenvalue from the next."""
        least = torch.finfo(self.values.dtype).eps ** 0.5 * self.values[:, 0]
        separate: Tensor = self.values[:, d - 1] - self.values[:, d] > least
        return separate

    def spread(self, d: int) -> float:
        """Return the mean standard error of the top-d eigenspace, in radians."""
        normal = (self.trace - self.values[:, :d].sum(-1)).clamp_min(0)
        angle = (normal / (self.values[:, d - 1] * (self.effective - d - 1).clamp_min(1))).sqrt()
        return float(angle.nan_to_num(1.0).clamp_max(1.0).mean())


def _local_spectrum(neighborhoods: Tensor, sq: Tensor, k: int) -> _Spectrum:
    """Decompose kernel-weighted covariances of the k nearest points.

    They are the first of the neighbours (m, w, D) at squared distances (m, w), ascending. Those
    tied at the last distance share its places.
    """
    share = shares(sq, k)
    if share is None:
        neighborhoods, sq = neighborhoods[:, :k], sq[:, :k]
    width, D = neighborhoods.shape[1:]
    r0_sq = sq[:, 1 : max(8, k // 4)].mean(-1, keepdim=True)
    w = torch.exp(sq / (-4.0 * torch.where(r0_sq > 0, r0_sq, 1.0)))
    w = w if share is None else w * share
    w = w / w.sum(-1, keepdim=True)
    columns = (neighborhoods - w.unsqueeze(1) @ neighborhoods) * w.sqrt().unsqueeze(-1)
    if share is not None:  # copies of a point vary by rounding errors only
        columns = columns * (w * sq > 0).any(-1).view(-1, 1, 1)
    values, directions = leading_directions(columns, min(width, D))
    trace = columns.square().sum((-2, -1))
    # t points with a share of m / t each count as m
    squares = w.square() if share is None else w.square() / torch.where(share > 0, share, 1.0)
    return _Spectrum(values.clamp_min(0), directions, trace, 1.0 / squares.sum(-1))


def _widest_gap(scales: dict[int, _Spectrum]) -> int:
    """Return the d with the largest ratio of successive eigenvalues at any scale."""
    best, widest = 1, 0.0
    for k, scale in scales.items():
        largest = scale.values[:, :1]
        mean = torch.where(largest > 0, scale.values / largest, 0.0).mean(0)
        j = min(len(mean) - 1, k // 4)
        gap, place = (mean[:j] / (mean[1 : j + 1] + _GAP_FLOOR)).max(0)
        if float(gap) > widest:
            best, widest = int(place) + 1, float(gap)
    return best


def _angle(A: _Spectrum, B: _Spectrum, d: int) -> float:
    """Return the mean largest principal angle, in radians, between the top-d eigenspaces.

    Where an eigenspace is not determined, as on a grid, there is no angle, which counts as 0.
    """
    cosines = torch.linalg.svdvals(A.directions[..., :d].mT @ B.directions[..., :d])[:, -1]
    angles = torch.arccos(cosines.clamp(-1.0, 1.0))
    return float(torch.where(A.determined(d) & B.determined(d), angles, 0.0).mean())

"""The rule of Berry and Harlim for bandwidth="auto": the ε at which the kernel sum grows fastest.

On a d-manifold S(ε) = Σ_ij exp(-|p_i - p_j|² / (4 ε ρ_i ρ_j)) grows like ε^(d/2) between the scale
of the sample and that of the manifold, so the steepest d log S / d log ε marks a bandwidth that
both resolve, and twice that slope estimates d (Berry and Harlim 2016; Coifman et al. 2008).
"""

from __future__ import annotations

from math import log

import torch
from torch import Tensor

from pointforms.geometry.representatives import representatives
from pointforms.geometry.ties import nearest_of, shares

# Neighbours over which S is summed: with fewer, it would flatten too early.
_WIDE_NEIGHBORS = 256
# Largest number of points over which S is summed, each with all its neighbours.
_MAX_POINTS = 256
# Most neighbours of each, where many are tied at the last distance.
_MAX_TIED = 1 << 16
_GRID = 64


def wide_exponents(
    points: Tensor, rho: Tensor, mass: Tensor | None = None
) -> list[tuple[Tensor, Tensor | None]]:
    """Return |p_i - p_j|² / (4 ρ_i ρ_j) between some points of each cloud and many neighbours.

    From points (B, n, D) and ρ (B, n): one tensor (m, K) per cloud, with the weights (m, K) of its
    entries, or None if all are 1. Masses (B, n) of the points weigh both ends.
    """
    exponents = []
    chosen = representatives(points, _MAX_POINTS, lambda: rho)
    for b, (cloud, rows, scale) in enumerate(zip(points, chosen, rho, strict=True)):
        K = min(_WIDE_NEIGHBORS, len(cloud))
        sq, index = nearest_of(cloud, rows, K, _MAX_TIED)
        share = shares(sq, K)
        if share is None:
            sq, index = sq[:, :K], index[:, :K]
        if mass is not None:
            ends = mass[b, rows].unsqueeze(-1) * mass[b, index]
            share = ends if share is None else share * ends
        exponents.append((sq / (4.0 * scale[rows].unsqueeze(-1) * scale[index]), share))
    return exponents


def steepest(u: Tensor, share: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the ε at which log S is steepest, and that slope, from exponents u (m, K) at ε = 1.

    d log S / d log ε = Σ (u/ε) exp(-u/ε) / Σ exp(-u/ε), where `share` (m, K) weighs the terms.
    """
    if share is not None:
        u, share = u[share > 0], share[share > 0]
    positive = u[u > 0]
    if positive.numel() == 0:
        return u.new_ones(()), u.new_zeros(())
    low, high = positive.min().log(), positive.max().log()
    low = low.clamp_min(float(high) - 0.9 * log(torch.finfo(u.dtype).max))  # u / ε stays finite
    grid = torch.exp(low + (high - low) * torch.linspace(0, 1, _GRID, dtype=u.dtype).to(u.device))
    slopes = []
    for epsilon in grid:
        scaled = u / epsilon
        K = torch.exp(-scaled)
        K = K if share is None else K * share
        slopes.append((scaled * K).sum() / K.sum())
    slope, best = torch.stack(slopes).max(0)
    return grid[best], slope

"""Local scale and sampling density of the points of a cloud."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from pointforms.geometry.neighbors import NeighborLists
from pointforms.geometry.truncation import log_kept_mass

# A point with k₀ copies of itself has no scale: below the first share of the cloud's typical one
# it gets the second. Where all points repeat, the cloud's extent, its unit of length, is typical.
_NO_SCALE, _SCALE_OF_COPIES = 1e-6, 0.1
_EXTENT_FLOOR = 1e-8


def local_scale(nearest_sq: Tensor) -> Tensor:
    """r₀_i = sqrt(mean_{j=2..k₀} |p_i - p_I(i,j)|²), and more where points repeat.

    Parameters
    ----------
    nearest_sq : (B, n, k₀)
        Squared distances to the k₀ nearest, the point itself among them, in own units.

    Returns
    -------
    (B, n)
    """
    r0 = (nearest_sq.sum(-1) / (nearest_sq.shape[-1] - 1)).sqrt()
    # the median, whatever the outliers; the mean where half the points are copies
    typical = r0.median(-1, keepdim=True).values
    typical = torch.where(typical > 0, typical, r0.mean(-1, keepdim=True))
    typical = typical.clamp_min(_EXTENT_FLOOR)
    return torch.where(r0 > _NO_SCALE * typical, r0, _SCALE_OF_COPIES * typical)


def log_density(lists: NeighborLists, r0: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    """log q₀ over the neighbour lists, without and with the mass beyond the last neighbour.

    q₀_i = (2π)^(-d/2) r₀_i^(-d) n^(-1) Σ_l exp(-|p_i - p_l|² / (2 r₀_i r₀_l))

    in logarithms, since r₀^d leaves the floating-point range at moderate d. The list stops at its
    last neighbour m, so the second estimate divides by P(d/2, |p_i - p_m|² / (2 r₀_i r₀_m)): the
    scales of both ends, since at the edge of a sparse region the lists end where it is dense.

    Parameters
    ----------
    lists : neighbour lists of B clouds of n points
    r0 : (B, n)
    d : (B, 1)

    Returns
    -------
    log_q0, log_q : (B, n), (B, n)
    """
    n = r0.shape[1]
    product = (2.0 * r0).unsqueeze(-1) * lists.gather(r0)
    exponent = torch.div(lists.sq, product, out=product)
    last = exponent[..., -1].clone()
    total = exponent.neg_().exp_().sum(-1)
    log_q0 = total.log() - d * (r0.log() + 0.5 * math.log(2 * math.pi)) - math.log(n)
    if lists.complete:
        return log_q0, log_q0
    return log_q0, log_q0 - log_kept_mass(d, last)

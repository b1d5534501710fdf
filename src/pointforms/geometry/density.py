"""Estimate the local scale r₀ and the sampling density q₀ at the points of a cloud."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from pointforms.geometry.neighbors import NeighborLists
from pointforms.geometry.ties import end_weights, resolution
from pointforms.geometry.truncation import log_kept_mass

# A point with k₀ copies of itself has no scale of its own: if its scale is below the first share of
# the cloud's typical scale, it is set to the second share. Where all points repeat, the typical
# scale is a small share of the cloud's extent, which is its unit of length.
_NO_SCALE, _SCALE_OF_COPIES = 1e-6, 0.1
_EXTENT_FLOOR = 1e-8


def local_scale(nearest_sq: Tensor, share: Tensor | None = None) -> Tensor:
    """Return r₀_i = sqrt(mean_{j=2..k₀} |p_i - p_I(i,j)|²), see :func:`scale_without_copies`.

    Parameters
    ----------
    nearest_sq : Tensor, shape (B, n, k₀)
        Squared distances to the k₀ nearest points, the point itself included, in own units.
    share : Tensor or None, shape (B, n, k₀)
        Weight of each distance, 0 where a list is shorter; None stands for 1.

    Returns
    -------
    Tensor, shape (B, n)
    """
    if share is None:
        r0 = (nearest_sq.sum(-1) / (nearest_sq.shape[-1] - 1)).sqrt()
    else:
        r0 = ((share * nearest_sq).sum(-1) / (share.sum(-1) - 1)).sqrt()
    return scale_without_copies(r0)


def scale_without_copies(r0: Tensor) -> Tensor:
    """Return local scales (B, n), made positive where points repeat."""
    zero = resolution(r0.dtype)  # rotated copies differ by rounding errors
    # the median ignores outliers; it is 0 where half the points are copies
    typical = r0.median(-1, keepdim=True).values
    typical = torch.where(typical > zero, typical, r0.mean(-1, keepdim=True))
    typical = typical.clamp_min(_EXTENT_FLOOR)
    real = r0 > (_NO_SCALE * typical).clamp_min(zero)
    return torch.where(real, r0, _SCALE_OF_COPIES * typical)


def log_density(lists: NeighborLists, r0: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    """Return log q₀ over the neighbour lists, without and with the mass beyond the last neighbour.

    q₀_i = (2π)^(-d/2) r₀_i^(-d) n^(-1) Σ_l exp(-|p_i - p_l|² / (2 r₀_i r₀_l))

    in logarithms, since r₀^d leaves the floating-point range at moderate d. A point of weight w
    counts as w points: the sum is Σ_l w_l exp(...) / Σ_l w_l. The list stops at its
    last neighbour m, so the second estimate divides by P(d/2, |p_i - p_m|² / (2 r₀_i r₀_m)), with
    the scales of both ends, since lists at the edge of a sparse region end in a dense one. Points
    tied at the last distance are averaged.

    Parameters
    ----------
    lists : NeighborLists
        Neighbour lists of B clouds of n points, or of some rows of one cloud.
    r0 : Tensor, shape (B, n)
        Local scales of all points.
    d : Tensor, shape (B, 1)
        Intrinsic dimensions.

    Returns
    -------
    log_q0 : Tensor, shape (B, n)
    log_q : Tensor, shape (B, n)
    """
    exponent = _exponents(lists, r0)
    if lists.complete:
        log_q0 = _log_kernel_mean(exponent, lists, r0, d)
        return log_q0, log_q0
    ends = end_weights(lists)
    last = exponent[..., -1].clone() if ends is None else (exponent * ends).sum(-1)
    log_q0 = _log_kernel_mean(exponent, lists, r0, d)
    return log_q0, log_q0 - log_kept_mass(d, last)


def listed_log_density(lists: NeighborLists, r0: Tensor, d: Tensor) -> Tensor:
    """Return the first estimate of :func:`log_density`, which leaves out what is not listed."""
    return _log_kernel_mean(_exponents(lists, r0), lists, r0, d)


def _exponents(lists: NeighborLists, r0: Tensor) -> Tensor:
    product = (2.0 * lists.own(r0)).unsqueeze(-1) * lists.gather(r0)
    return torch.div(lists.sq, product, out=product)


def _log_kernel_mean(exponent: Tensor, lists: NeighborLists, r0: Tensor, d: Tensor) -> Tensor:
    """Return log q₀ from exponents (B, n, k), which are overwritten."""
    K = exponent.neg_().exp_()
    weights = lists.entry_weights()
    total = (K if weights is None else K.mul_(weights)).sum(-1)
    scale = lists.own(r0).log() + 0.5 * math.log(2 * math.pi)
    log_q0: Tensor = total.log() - d * scale - math.log(r0.shape[1])
    return log_q0

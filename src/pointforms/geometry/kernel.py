"""The diffusion kernel of Berry and Harlim on neighbour lists: bandwidth function and weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from pointforms.geometry.neighbors import NeighborLists
from pointforms.geometry.settings import GramSettings
from pointforms.geometry.truncation import kept_second_moment


@dataclass(frozen=True)
class Kernel:
    """Row-normalised weights and their scale.

    Attributes
    ----------
    weights : Tensor, shape (B, n, k)
        K̂, whose rows sum to 1.
    log_rho : Tensor, shape (B, n)
        Logarithm of the bandwidth function ρ.
    epsilon : Tensor, shape (B, 1)
        Bandwidth ε.
    kept : Tensor or None, shape (B, n)
        Share of the second moment that the cut at the last neighbour keeps, in double precision;
        None if nothing is to be corrected.
    log_total : Tensor or None, shape (B, n)
        Logarithm of the row sums before normalisation, in double precision, of a kernel that was
        given; None if K_ij = exp(-u_ij / ε).
    """

    weights: Tensor
    log_rho: Tensor
    epsilon: Tensor
    kept: Tensor | None
    log_total: Tensor | None = None

    def rate(self) -> tuple[Tensor, Tensor]:
        """Return 1 / (ε ρ_i² kept_i), the factor from K̂ - I to the generator L, in two parts.

        Numbers of order one (B, n), and exponents p (B, 1): the factor is their product with 4^p,
        which single precision may not hold.
        """
        return rate_in_parts(self.log_rho, self.epsilon, self.kept)

    def unnormalized(self, lists: NeighborLists) -> Tensor:
        """Return K_ij, before the density and row normalisations, up to a factor: (B, n, k).

        It is without the masses of the points, so that it is symmetric.
        """
        if self.log_total is not None:
            total = self.log_total - self.log_total.amax(-1, keepdim=True)
            K = self.weights * total.exp().to(self.weights.dtype).unsqueeze(-1)
            return K if lists.mass is None else K / lists.gather(lists.mass)
        K = torch.exp(exponents(lists, self.log_rho.exp()) / -self.epsilon.unsqueeze(-1))
        return K if lists.share is None else K * lists.share


def log_bandwidth(
    log_q0: Tensor,
    r0: Tensor,
    d: Tensor,
    log_unit: Tensor,
    settings: GramSettings,
    mass: Tensor | None = None,
) -> Tensor:
    """Return log ρ in the batch's own units: ρ = q₀^β or constant, then rescaled.

    Parameters
    ----------
    log_q0 : Tensor, shape (B, n)
        Logarithm of the density, in own units.
    r0 : Tensor, shape (B, n)
        Local scale, in own units.
    d : Tensor, shape (B, 1)
        Intrinsic dimension.
    log_unit : Tensor, shape (B, 1)
        Logarithm of the own unit in the caller's units.
    settings : GramSettings
        `bandwidth_policy`, `bandwidth_units` and `beta` are used.
    mass : Tensor or None, shape (B, n), default None
        Weights of the points in geometric means, with mean 1.
    """
    units = settings.bandwidth_units
    variable = settings.bandwidth_policy == "variable"
    log_rho = settings.beta * log_q0 if variable else torch.zeros_like(log_q0)
    if units == "absolute":
        # q₀ has the unit length^-d: convert it to the caller's units, take the power, convert back
        shift = -log_unit - (settings.beta * d * log_unit if variable else 0.0)
    elif units == "local":
        shift = mean_over_points(r0.log() - log_rho, mass)
    else:
        shift = math.log(units) - log_unit - mean_over_points(log_rho, mass)
    limit = 0.25 * math.log(torch.finfo(log_rho.dtype).max)  # ρ_i² ρ_j² stays finite
    return (log_rho + shift).clamp(-limit, limit)


def mean_over_points(values: Tensor, mass: Tensor | None) -> Tensor:
    """Return means of values (B, n) over each cloud, by masses (B, n) of mean 1: (B, 1)."""
    return (values if mass is None else values * mass).mean(-1, keepdim=True)


def rate_in_parts(log_rho: Tensor, epsilon: Tensor, kept: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return what :meth:`Kernel.rate` does."""
    rate = torch.exp(-2 * log_rho.double()) / epsilon.double()
    rate = rate if kept is None else rate / kept
    power = (0.5 * rate.amax(-1, keepdim=True).log2()).floor()
    return (rate * torch.exp2(-2 * power)).to(log_rho.dtype), power


def exponents(lists: NeighborLists, rho: Tensor) -> Tensor:
    """Return |p_i - p_j|² / (4 ρ_i ρ_j), the kernel's exponent at ε = 1: (B, n, k)."""
    product = (4.0 * lists.own(rho)).unsqueeze(-1) * lists.gather(rho)
    return torch.div(lists.sq, product, out=product)


def diffusion_kernel(
    lists: NeighborLists,
    u: Tensor,
    log_rho: Tensor,
    epsilon: Tensor,
    d: Tensor,
    settings: GramSettings,
) -> Kernel:
    """Return K_ij = exp(-u_ij / ε), normalised by the density and then by rows.

    q_ε(i) = Σ_j K_ij / ρ_i^d and K^α_ij = K_ij / (q_ε(i) q_ε(j))^α. The row normalisation cancels
    the factor of i, so only that of j is applied, in logarithms because ρ^(dα) has a wide range.
    Where points have masses, both sums count a neighbour as often: K_ij becomes w_j K_ij.
    The exponents u from :func:`exponents` are overwritten.
    """
    log_K = log_weights(lists, u, epsilon)
    log_q = None
    if settings.alpha != 0.0:
        log_q = log_kernel_density(lists, log_K, log_rho, d)
    weights = normalized(lists, log_K, log_q, settings.alpha)
    kept = None
    if settings.truncation and not lists.complete:
        kept = kept_share(d, log_rho, lists.sq[..., -1], epsilon)
    return Kernel(weights, log_rho, epsilon, kept)


def log_weights(lists: NeighborLists, u: Tensor, epsilon: Tensor) -> Tensor:
    """Return log K_ij from the exponents u, which are overwritten, with masses: (B, n, k)."""
    log_K = u.mul_(-1.0 / epsilon.unsqueeze(-1))
    entries = lists.entry_weights()
    if entries is not None:
        log_K += entries.log()
    return log_K


def log_kernel_density(lists: NeighborLists, log_K: Tensor, log_rho: Tensor, d: Tensor) -> Tensor:
    """Return log q_ε of the points that the lists are of: (B, n)."""
    return torch.logsumexp(log_K, -1) - d * lists.own(log_rho)


def normalized(lists: NeighborLists, log_K: Tensor, log_q: Tensor | None, alpha: float) -> Tensor:
    """Return K̂ from log K, which is overwritten, and log q_ε (B, n) unless alpha is 0."""
    if log_q is not None:
        log_K -= alpha * lists.gather(log_q)
        log_K -= log_K.amax(-1, keepdim=True)
    K = log_K.exp_()
    return K.div_(K.sum(-1, keepdim=True))


def kept_share(d: Tensor, log_rho: Tensor, last_sq: Tensor, epsilon: Tensor) -> Tensor:
    """Return τ (B, n) from the squared distances (B, n) of the last neighbours."""
    # in double precision, whose range is wider
    sq_radius = torch.exp(-2 * log_rho.double()) * last_sq / (4 * epsilon.double())
    return kept_second_moment(d, sq_radius)

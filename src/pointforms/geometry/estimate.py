"""Estimate, for clouds of one size, everything that their Gram fields are computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from pointforms.geometry.bandwidth import steepest, wide_exponents
from pointforms.geometry.density import local_scale, log_density
from pointforms.geometry.kernel import Kernel, diffusion_kernel, exponents, log_bandwidth
from pointforms.geometry.neighbors import NeighborLists, neighbor_lists
from pointforms.geometry.settings import GramSettings
from pointforms.geometry.ties import nearest
from pointforms.geometry.units import own_units


@dataclass(frozen=True)
class BatchGeometry:
    """Neighbourhoods, density and kernel of B clouds of n points each.

    Lengths are in the batch's own unit: `points` are centred and divided by `unit`.
    """

    points: Tensor  # (B, n, D)
    unit: Tensor  # (B, 1, 1)
    lists: NeighborLists
    dimension: Tensor  # (B, 1), whole numbers as floats
    log_density: Tensor  # (B, n), in the caller's units
    kernel: Kernel

    def scale(self) -> Tensor:
        """Return ρ in the caller's units: (B, n)."""
        return self.kernel.log_rho.exp() * self.unit.squeeze(-1)


def estimate_geometry(
    points: Tensor,
    settings: GramSettings,
    merge: bool = True,
    lists: NeighborLists | None = None,
    mass: Tensor | None = None,
) -> BatchGeometry:
    """Estimate neighbours, scale, density, bandwidth and kernel of (B, n, D).

    Parameters
    ----------
    points : Tensor, shape (B, n, D)
        The clouds.
    settings : GramSettings
        Options, with numbers for `neighbors` and `dimension`.
    merge : bool, default True
        That of :func:`pointforms.geometry.ties.nearest`.
    lists : NeighborLists or None, default None
        Neighbours in own units that were searched before; used if they are long enough.
    mass : Tensor or None, shape (B, n), default None
        Weights of the points, with mean 1; None stands for 1. Neighbours and local scales are
        those of the points as they are: the scale has to cover the distance between points,
        whatever each of them stands for.
    """
    n = points.shape[1]
    k, k0 = settings.list_length(n), settings.density_list_length(n)
    x, unit = own_units(points)
    length = max(k + 1, k0)  # one more than k, to notice ties
    if lists is None or k == n or lists.sq.shape[-1] < length:
        lists = neighbor_lists(x, length, settings.search)
    r0 = local_scale(lists.nearest_sq(k0))
    # copies of a point may differ in their weights
    lists = nearest(lists, x, k, settings.search, merge and mass is None)
    lists = lists if mass is None else replace(lists, mass=mass.to(x))
    return geometry_of_lists(x, unit, lists, r0, settings)


def geometry_of_lists(
    x: Tensor, unit: Tensor, lists: NeighborLists, r0: Tensor, settings: GramSettings
) -> BatchGeometry:
    """Estimate density, bandwidth and kernel on neighbour lists.

    Parameters
    ----------
    x : Tensor, shape (B, n, D)
        The clouds, in own units.
    unit : Tensor, shape (B, 1, 1)
        Their units.
    lists : NeighborLists
        The neighbours of every point.
    r0 : Tensor, shape (B, n)
        Local scales.
    settings : GramSettings
        The options that act after the search.
    """
    d = dimensions(x, settings)
    log_unit = unit.squeeze(-1).log()
    log_q0, log_q = log_density(lists, r0, d)
    log_rho = log_bandwidth(log_q0, r0, d, log_unit, settings, lists.mass)
    rho = log_rho.exp()
    epsilon = bandwidths(x, rho, settings, lists.mass)
    u = exponents(lists, rho)
    kernel = diffusion_kernel(lists, u, log_rho, epsilon, d, settings)
    return BatchGeometry(x, unit, lists, d, log_q - d * log_unit, kernel)


def bandwidths(x: Tensor, rho: Tensor, settings: GramSettings, mass: Tensor | None) -> Tensor:
    """Return ε for each of the clouds (B, n, D) with ρ (B, n): (B, 1)."""
    if settings.bandwidth == "auto":
        wide = wide_exponents(x, rho, mass)
        return torch.stack([steepest(*one)[0] for one in wide]).unsqueeze(-1)
    return torch.full_like(x[:, :1, 0], float(settings.bandwidth))


def dimensions(x: Tensor, settings: GramSettings) -> Tensor:
    """Return d for each of the clouds (B, n, D): (B, 1)."""
    if not isinstance(settings.dimension, int):
        raise ValueError(f"dimension={settings.dimension!r} must be resolved for a cloud first")
    return torch.full_like(x[:, :1, 0], settings.dimension)

"""The geometry of a cloud whose kernel is given: sparse affinities between its points.

The affinities, times the weights of the points and normalised by row, are the kernel K̂. They have
no length scale, so ρ is the length with which G = 1/(2 ρ²) Σ_j K̂_ij (p_j - c_i)(p_j - c_i)ᵀ is
calibrated: the mean trace, or every trace, is d.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from pointforms.geometry.density import log_density
from pointforms.geometry.estimate import BatchGeometry, dimensions
from pointforms.geometry.factor import calibration, traces
from pointforms.geometry.kernel import Kernel
from pointforms.geometry.neighbors import NeighborLists
from pointforms.geometry.settings import GramSettings


def geometry_of_affinities(
    x: Tensor,
    unit: Tensor,
    lists: NeighborLists,
    r0: Tensor,
    affinities: Tensor,
    settings: GramSettings,
) -> BatchGeometry:
    """Estimate density and scale where the kernel is given.

    Parameters
    ----------
    x : Tensor, shape (B, n, D)
        The clouds, in own units.
    unit : Tensor, shape (B, 1, 1)
        Their units.
    lists : NeighborLists
        The points with positive affinities, and the point itself.
    r0 : Tensor, shape (B, n)
        Local scales.
    affinities : Tensor, shape (B, n, k)
        Nonnegative, in double precision.
    settings : GramSettings
        `dimension`, `center` and `calibrate`, which is True or "point", are used.
    """
    assert settings.calibrate
    d = dimensions(x, settings)
    log_q = log_density(lists, r0, d)[1]
    if lists.mass is not None:
        affinities = affinities * lists.gather(lists.mass.double())
    largest = affinities.amax(-1, keepdim=True)
    weights = affinities / largest  # whose sum is in range
    total = weights.sum(-1, keepdim=True)
    weights = (weights / total).to(x.dtype)
    log_total = (total.log() + largest.log()).squeeze(-1)
    kernel = Kernel(weights, torch.zeros_like(r0), torch.ones_like(d), None, log_total)
    geometry = BatchGeometry(x, unit, lists, d, log_q - d * unit.squeeze(-1).log(), kernel)
    factor = calibration(traces(geometry, settings.center), d, settings.calibrate, lists.mass)
    limit = 0.25 * math.log(torch.finfo(x.dtype).max)
    log_rho = (-0.5 * factor.log()).clamp(-limit, limit).expand_as(r0)
    return replace(geometry, kernel=replace(kernel, log_rho=log_rho))

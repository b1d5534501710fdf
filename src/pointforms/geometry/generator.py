"""The sparse generator L = (K̂ - I) / (ε ρ²) of the diffusion on a cloud."""

from __future__ import annotations

import torch
from torch import Tensor

from pointforms.geometry.estimate import BatchGeometry
from pointforms.geometry.settings import GramSettings
from pointforms.geometry.units import times_power_of_two


def generator(
    geometry: BatchGeometry,
    settings: GramSettings,
    symmetric: bool,
    factor: Tensor,
    power: Tensor,
) -> Tensor:
    """Return L of one cloud: sparse (n, n).

    Parameters
    ----------
    geometry : BatchGeometry
        The geometry of one cloud.
    settings : GramSettings
        Its options, for `alpha` and for error messages.
    symmetric : bool
        Join i and j where either lists the other.
    factor, power : Tensor
        What :func:`pointforms.geometry.factor.caller_units` returns.
    """
    n = geometry.points.shape[1]
    rate = times_power_of_two(geometry.kernel.rate()[0].flatten().double() * factor, power)
    rate = rate.to(geometry.points.dtype)
    if not bool((torch.isfinite(rate) & (rate > 0)).all()):
        raise ValueError(
            f"the generator, a rate per area, is beyond the range of {rate.dtype} for points with "
            f"an extent of {float(geometry.unit):.3g}, bandwidth={settings.bandwidth!r} and "
            f"bandwidth_units={settings.bandwidth_units!r}: rescale the points"
        )
    own = torch.arange(n, device=rate.device)
    if symmetric:
        row, column, weight = _undirected(geometry, settings.alpha)
    else:
        row, column = _places(geometry)
        weight = geometry.kernel.weights.flatten()
    values = torch.cat([weight * rate[row], -rate])
    places = torch.stack([torch.cat([row, own]), torch.cat([column, own])])
    return torch.sparse_coo_tensor(
        places, values, (n, n), device=values.device, check_invariants=False
    ).coalesce()


def _places(geometry: BatchGeometry) -> tuple[Tensor, Tensor]:
    """Return the rows and columns of the entries of the neighbour lists."""
    index = geometry.lists.index
    n, k = geometry.kernel.weights.shape[1:]
    own = torch.arange(n, device=geometry.points.device)
    return own.repeat_interleave(k), own.repeat(n) if index is None else index.flatten()


def _undirected(geometry: BatchGeometry, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, columns and row-normalised weights on the union of the neighbour lists."""
    kernel = geometry.kernel
    n = kernel.weights.shape[1]
    row, column = _places(geometry)
    K = kernel.unnormalized(geometry.lists).flatten()
    # K_ij = K_ji up to rounding errors and shares: an edge listed from both ends is the larger
    edges = torch.cat([row * n + column, column * n + row])
    edges, entry = edges.unique(return_inverse=True)
    K = K.new_zeros(len(edges)).scatter_reduce(0, entry, K.repeat(2), "amax")
    row, column = edges // n, edges % n
    if geometry.lists.mass is not None:
        K = K * geometry.lists.mass[0, column]

    def row_sums(values: Tensor) -> Tensor:
        return values.new_zeros(n).index_add(0, row, values)

    if alpha != 0.0:
        log_q = row_sums(K).log() - geometry.dimension[0] * kernel.log_rho[0]
        log_K = K.log() - alpha * log_q[column]
        largest = log_K.new_full((n,), -torch.inf).scatter_reduce(0, row, log_K, "amax")
        K = torch.exp(log_K - largest[row])
    return row, column, K / row_sums(K)[row]

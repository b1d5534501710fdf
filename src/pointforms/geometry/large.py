"""The Gram field of one large cloud, computed from some rows after the other.

It is the field of :mod:`pointforms.geometry.estimate` and :mod:`pointforms.geometry.factor` up to
rounding errors, without an array of all neighbours of all points but their indices.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from pointforms.geometry.assemble import fields_of_factors
from pointforms.geometry.chunked import ChunkedLists, SearchedLists, by_rows
from pointforms.geometry.density import log_density
from pointforms.geometry.estimate import bandwidths, dimensions
from pointforms.geometry.factor import calibration, columns_to_factor, factor_width, squared_norm
from pointforms.geometry.field import GramField
from pointforms.geometry.kernel import (
    exponents,
    kept_share,
    log_bandwidth,
    log_kernel_density,
    log_weights,
    normalized,
    rate_in_parts,
)
from pointforms.geometry.neighbors import NeighborLists
from pointforms.geometry.ordered import OrderedCloud, suits_order
from pointforms.geometry.settings import GramSettings
from pointforms.geometry.ties import resolution
from pointforms.weights import plain, relative_weights

# Numbers that are put into another order at once.
_REORDERED = 1 << 23


def suits_large_field(cloud: Tensor, settings: GramSettings) -> bool:
    """Return whether the field of a cloud (n, D) is computed by :func:`large_field`."""
    neighbors = 0 if settings.neighbors == "auto" else settings.neighbors
    widest = max(neighbors, settings.density_neighbors or 0)
    return suits_order(cloud, settings.search) and 2 * widest < len(cloud)


def large_field(
    cloud: Tensor, settings: GramSettings, searched: SearchedLists | None = None
) -> GramField:
    """Compute the Gram field of a large cloud.

    Parameters
    ----------
    cloud : Tensor, shape (n, D)
        The cloud, with the weights that it carries.
    settings : GramSettings
        Options, with numbers for `neighbors` and `dimension`.
    searched : SearchedLists or None, default None
        Neighbours that were searched before; used, and dropped, if they are long enough.
    """
    n = len(cloud)
    k, k0 = settings.list_length(n), settings.density_list_length(n)
    width = max(k + 1, k0)  # one more than k, to notice ties
    if searched is None or searched.width < width:
        ordered = OrderedCloud(cloud) if searched is None else searched.drop()
        searched = SearchedLists(ordered, width)
    ordered = searched.cloud
    ordered.drop_tree()
    mass = relative_weights(cloud)
    mass = None if mass is None else mass[ordered.order].to(ordered.coordinates).unsqueeze(0)
    # copies of a point may differ in their weights
    lists = searched.nearest(k, merge=mass is None, mass=mass)
    kernel = _kernel(lists, searched.local_scale(k0), settings)
    V, lost = _factors(lists, kernel, settings)
    scale = kernel.log_rho.exp() * ordered.unit.squeeze(-1)
    log_q = kernel.log_density - kernel.dimension * ordered.unit.squeeze(-1).log()
    back = torch.empty_like(ordered.order)
    back[ordered.order] = torch.arange(n)
    _reorder(V.view(n, -1), back)
    lost, log_q, scale = (values[:, back] for values in (lost, log_q, scale))
    points, d, epsilon = plain(cloud).unsqueeze(0), kernel.dimension, kernel.epsilon
    [field] = fields_of_factors(points, V.unsqueeze(0), lost, log_q, scale, d, epsilon, settings)
    return field


@dataclass(frozen=True)
class _ChunkedKernel:
    """Everything that the weights of some rows are computed from."""

    log_rho: Tensor  # (1, n)
    rho: Tensor  # (1, n)
    epsilon: Tensor  # (1, 1)
    kept: Tensor | None  # (1, n)
    log_q: Tensor | None  # (1, n), log q_ε, unless alpha is 0
    alpha: float
    dimension: Tensor  # (1, 1)
    log_density: Tensor  # (1, n), in own units

    def weights(self, lists: NeighborLists) -> Tensor:
        """Return K̂ of the lists of some rows: (1, R, k)."""
        log_K = log_weights(lists, exponents(lists, self.rho), self.epsilon)
        return normalized(lists, log_K, self.log_q, self.alpha)


def _kernel(lists: ChunkedLists, r0: Tensor, settings: GramSettings) -> _ChunkedKernel:
    """Estimate density and kernel, as :func:`geometry_of_lists` does."""
    x, unit = lists.cloud.points, lists.cloud.unit
    d = dimensions(x, settings)
    log_q0, log_q = by_rows(lists, lambda part: torch.stack(log_density(part, r0, d)))
    log_rho = log_bandwidth(log_q0, r0, d, unit.squeeze(-1).log(), settings, lists.mass)
    rho = log_rho.exp()
    epsilon = bandwidths(x, rho, settings, lists.mass)
    kept = kept_share(d, log_rho, lists.last_sq, epsilon) if settings.truncation else None
    log_sums = None
    if settings.alpha != 0.0:

        def log_sum(part: NeighborLists) -> Tensor:
            log_K = log_weights(part, exponents(part, rho), epsilon)
            return log_kernel_density(part, log_K, log_rho, d)

        log_sums = by_rows(lists, log_sum)
    return _ChunkedKernel(log_rho, rho, epsilon, kept, log_sums, settings.alpha, d, log_q)


def _factors(
    lists: ChunkedLists, kernel: _ChunkedKernel, settings: GramSettings
) -> tuple[Tensor, Tensor]:
    """Return V (n, D, r) and the trace that `rank` left out (1, n), as :func:`gram_factors` does.

    The lists are used up.
    """
    ordered = lists.cloud
    D, n = ordered.coordinates.shape
    r = factor_width(lists.width, D, int(kernel.dimension), settings)
    V = ordered.coordinates.new_empty(n, D, r)
    trace, lost = V.new_empty(n), V.new_zeros(n)
    rate, power = rate_in_parts(kernel.log_rho, kernel.epsilon, kernel.kept)
    half_rate = 0.5 * rate[0]
    for part in lists.parts(release=True):
        rows, index = part.rows, part.index
        assert rows is not None
        assert index is not None
        w = kernel.weights(part)[0]
        z = ordered.differences(index[0], rows.start)
        if settings.center == "mean":
            z -= (w.unsqueeze(1) @ z.mT).mT
        z *= (w * half_rate[rows].unsqueeze(1)).sqrt_().unsqueeze(1)
        varied = part.sq[0, :, -1].sqrt() > resolution(z.dtype)
        if not bool(varied.all()):  # zero, not rounding errors, where all neighbours are copies
            z *= varied.view(-1, 1, 1)
        trace[rows] = squared_norm(z)
        d = kernel.dimension.expand(1, n)[0, rows]
        V[rows], lost[rows] = columns_to_factor(z.mT, r, d, settings)
    if settings.spectrum == "projector":
        return V, lost.unsqueeze(0)
    if settings.calibrate:
        factor = calibration(
            trace.unsqueeze(0), kernel.dimension, settings.calibrate, lists.mass
        ).squeeze(0)
    else:
        factor = torch.exp2(2 * power).to(V.dtype).squeeze(0)
    V *= factor.sqrt().view(-1, 1, 1)
    return V, (lost * factor).unsqueeze(0)


def _reorder(values: Tensor, places: Tensor) -> None:
    """Put the rows of (n, m) into another order, in place: some columns after the other."""
    for columns in values.split(max(1, _REORDERED // len(values)), dim=1):
        columns.copy_(columns[places])

"""The factor V of the Gram field, G(p_i) = V_i V_iᵀ, at every point of a cloud."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

from pointforms.geometry.estimate import BatchGeometry
from pointforms.geometry.kernel import mean_over_points
from pointforms.geometry.neighbors import BLOCK
from pointforms.geometry.pairs import pair_scales
from pointforms.geometry.settings import Center, GramSettings
from pointforms.geometry.ties import resolution


def gram_factors(
    geometry: BatchGeometry, settings: GramSettings
) -> tuple[Tensor, Tensor, list[Tensor | None]]:
    """Return V (B, n, D, r) with V Vᵀ = G, the trace that `rank` left out (B, n), and pairs.

    The pairs are those of :class:`GramField`, of each cloud.

    G(p_i) = 1 / (2 ε ρ_i² kept_i) Σ_j K̂_ij (p_j - c_i)(p_j - c_i)ᵀ
    """
    B, n, D = geometry.points.shape
    k = geometry.kernel.weights.shape[-1]
    r = factor_width(k, D, int(geometry.dimension.max()), settings)
    V = geometry.points.new_empty(B * n, D, r)
    trace, lost = V.new_empty(B * n), V.new_zeros(B, n)
    for rows, columns in position_differences(geometry, settings.center):
        trace[rows] = squared_norm(columns)
        d = geometry.dimension.expand(B, n).flatten()[rows]
        V[rows], lost.view(-1)[rows] = columns_to_factor(columns, r, d, settings)
    V = V.view(B, n, D, r)
    if settings.spectrum == "projector":
        return V, lost, [None] * B
    if settings.calibrate:
        factor = calibration(
            trace.view(B, n), geometry.dimension, settings.calibrate, geometry.lists.mass
        )
    else:
        factor = torch.exp2(2 * geometry.kernel.rate()[1]).to(V.dtype)
    V *= factor.sqrt().view(B, -1, 1, 1)
    if r < min(k, D):
        lost *= factor
    pairs: list[Tensor | None] = [None] * B
    if settings.has_pairs(n, D):
        pairs = list(pair_scales(geometry).mul_(factor.sqrt().unsqueeze(-1)).div_(geometry.unit))
    return V, lost, pairs


def factor_width(k: int, D: int, d: int, settings: GramSettings) -> int:
    """Return the number of columns of V for lists of k points in D dimensions."""
    return min(k, d if settings.spectrum == "projector" else D, settings.rank or D)


def columns_to_factor(
    columns: Tensor, r: int, d: Tensor, settings: GramSettings
) -> tuple[Tensor, Tensor | float]:
    """Return V (R, D, r) and the trace that is left out (R,), from the columns (R, k, D) of G.

    Before calibration; d (R,) has the dimension at every point.
    """
    k, D = columns.shape[1:]
    if settings.spectrum == "projector":
        return _projector(columns, d, r)
    if r < min(k, D):
        return _leading(columns, r)
    return columns.mT if k <= D else _cholesky(columns.mT @ columns), 0.0


def weighted_differences(
    geometry: BatchGeometry, values: Tensor, center: Center, block: int = BLOCK
) -> Iterator[tuple[slice, Tensor]]:
    """Yield blocks of rows i of the flattened batch with the columns of V_i.

    sqrt(K̂_ij / (2 ε ρ_i² kept_i)) (f_j - c_i), for functions f given by values (B, n, m) and
    c_i = Σ_j K̂_ij f_j or f_i: (rows, k, m). They are divided by 2^p, with the exponent p of
    :meth:`Kernel.rate`. A block has about `block` numbers.
    """
    B, n, m = values.shape
    flat = values.flatten(0, 1)
    weights = geometry.kernel.weights.flatten(0, 1)
    half_rate = 0.5 * geometry.kernel.rate()[0].flatten()
    index = None if geometry.lists.index is None else geometry.lists.index.flatten(0, 1)
    k = weights.shape[-1]
    # numbers per row: its columns, and three matrices made of them
    size = max(1, m * (k + 3 * min(k, m)))
    for rows in _row_blocks(B, n, max(1, block // size), whole_clouds=index is None):
        w = weights[rows]
        if index is None:  # every neighbourhood is the whole cloud, so there is nothing to gather
            cloud = values[rows.start // n : -(-rows.stop // n)].unsqueeze(1)
            per_cloud = w.view(len(cloud), -1, k)
            c = (
                per_cloud @ cloud.squeeze(1)
                if center == "mean"
                else flat[rows].view(len(cloud), -1, m)
            )
            columns = (cloud - c.unsqueeze(2)).flatten(0, 1)
        else:
            columns = flat.index_select(0, index[rows].flatten()).view(-1, k, m)
            columns -= w.unsqueeze(1) @ columns if center == "mean" else flat[rows].unsqueeze(1)
        columns *= (w * half_rate[rows].unsqueeze(1)).sqrt_().unsqueeze(-1)
        yield rows, columns


def position_differences(geometry: BatchGeometry, center: Center) -> Iterator[tuple[slice, Tensor]]:
    """Yield the :func:`weighted_differences` of the points themselves.

    They are zero, not rounding errors, where all neighbours are copies of the point.
    """
    lists = geometry.lists
    varied = (lists.sq[..., -1].sqrt() > resolution(lists.sq.dtype)).view(-1, 1, 1)
    keep = lists.complete or bool(varied.all())
    for rows, columns in weighted_differences(geometry, geometry.points, center):
        yield rows, columns if keep else columns * varied[rows]


def traces(geometry: BatchGeometry, center: Center) -> Tensor:
    """Return tr G at every point before calibration, without the power of two: (B, n)."""
    blocks = [squared_norm(columns) for _, columns in position_differences(geometry, center)]
    return torch.cat(blocks).view(geometry.points.shape[:2])


def _row_blocks(B: int, n: int, size: int, whole_clouds: bool) -> Iterator[slice]:
    """Yield slices of at most `size` of B n rows, which split no cloud if `whole_clouds`."""
    if whole_clouds and size < n:
        for start in range(0, B * n, n):
            yield from (slice(s, min(s + size, start + n)) for s in range(start, start + n, size))
        return
    size = size // n * n if whole_clouds else size
    yield from (slice(s, min(s + size, B * n)) for s in range(0, B * n, size))


def calibration(
    trace: Tensor, d: Tensor, mode: Literal[True, "point"], mass: Tensor | None = None
) -> Tensor:
    """Return the factor that makes the mean trace, or every trace, of (B, n) equal to d (B, 1).

    Its shape is (B, 1) or (B, n). It is 1 where the trace is zero, in a neighbourhood of copies.
    Points count in the mean as their masses (B, n) say.
    """
    reference = trace if mode == "point" else mean_over_points(trace, mass)
    return torch.where(reference > torch.finfo(trace.dtype).tiny, d / reference, 1.0)


def caller_units(
    geometry: BatchGeometry, calibrate: bool | Literal["point"], trace: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return what turns 1 / ρ² from :meth:`Kernel.rate` to the caller's units, with calibration.

    Parameters
    ----------
    geometry : BatchGeometry
        The geometry of one cloud.
    calibrate : bool or "point"
        How the Gram field is calibrated.
    trace : Tensor or None, shape (1, n)
        What :func:`traces` returns; None without calibration.

    Returns
    -------
    factor : Tensor, shape (1,) or (n,)
        Numbers in double precision.
    power : Tensor, shape (1,)
        Exponent of a power of two.
    """
    power = -2 * geometry.unit.double().flatten().log2()
    if calibrate is False or trace is None:
        return torch.ones_like(power), power + 2 * geometry.kernel.rate()[1].flatten()
    factor = calibration(trace, geometry.dimension, calibrate, geometry.lists.mass)
    return factor.flatten().double(), power


def _cholesky(G: Tensor) -> Tensor:
    """Return a lower triangular V with V Vᵀ = G up to rounding, for singular G too: (R, D, D).

    G = S R S with R of unit diagonal, so that small features keep their digits. A shift by a few
    rounding errors keeps the pivots of a singular R positive. Where it is not enough, V is
    computed from the eigenvectors.
    """
    D, precision = G.shape[-1], torch.finfo(G.dtype)
    S = G.diagonal(dim1=-2, dim2=-1).clamp_min(precision.tiny).sqrt()
    R = S.unsqueeze(-1) * S.unsqueeze(-2)
    torch.div(G, R, out=R)
    R.diagonal(dim1=-2, dim2=-1).add_(4 * D * precision.eps)
    V: Tensor
    V, failed = torch.linalg.cholesky_ex(R)
    if bool(failed.any()):
        bad = failed > 0
        values, vectors = torch.linalg.eigh(R[bad])
        V[bad] = vectors * values.clamp_min(0).sqrt().unsqueeze(-2)
    return V.mul_(S.unsqueeze(-1))


def squared_norm(columns: Tensor) -> Tensor:
    """Return tr G of columns (R, k, D) without a temporary of their size: (R,)."""
    norm: Tensor = torch.linalg.vector_norm(columns, dim=(-2, -1))
    return norm.square()


def _leading(columns: Tensor, r: int) -> tuple[Tensor, Tensor]:
    """Return the top r directions of G, scaled to its eigenvalues, and the trace of the rest."""
    values, directions = leading_directions(columns, r)
    values = values.clamp_min(0)
    rest = squared_norm(columns) - values.sum(-1)
    return directions * values.sqrt().unsqueeze(1), rest.clamp_min(0)


def _projector(columns: Tensor, d: Tensor, r: int) -> tuple[Tensor, Tensor]:
    """Return min(d, r) orthonormal directions, then zero columns, and the trace left out."""
    values, directions = leading_directions(columns, r)
    # the eigenvector of a direction without variance is arbitrary
    k, D = columns.shape[1:]
    real = values > 8 * min(k, D) * torch.finfo(values.dtype).eps * values[:, :1]
    real &= torch.arange(r, device=d.device) < d.unsqueeze(1)
    return directions * real.unsqueeze(1), (d.clamp_max(min(k, D)) - r).clamp_min(0)


def leading_directions(columns: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the largest eigenvalues of G = columnsᵀ columns, descending, and their eigenvectors.

    They are computed from the smaller of G (D, D) and columns columnsᵀ (k, k). The shapes are
    (R, k, D) -> (R, count), (R, D, count).
    """
    k, D = columns.shape[1:]
    if k >= D:
        values, vectors = torch.linalg.eigh(columns.mT @ columns)
        return values[:, -count:].flip(-1), vectors[..., -count:].flip(-1)
    values, left = torch.linalg.eigh(columns @ columns.mT)
    values, left = values[:, -count:].flip(-1), left[..., -count:].flip(-1)
    directions = columns.mT @ left
    norms = directions.norm(dim=-2, keepdim=True)
    return values, directions / norms.clamp_min(torch.finfo(norms.dtype).tiny)

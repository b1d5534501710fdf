"""Scales of pairs of points: a short form of the Gram factor, where neighbourhoods are wide.

If most points of a cloud are neighbours of each other, the factors V_i of all points are made of
the same few differences. One number per pair of points is then enough to describe them:

    V_i = (s_ij (p_j - c_i))_j ,    c_i = Σ_j s_ij² p_j / Σ_j s_ij² .
"""

from __future__ import annotations

import torch
from torch import Tensor

from pointforms.geometry.estimate import BatchGeometry
from pointforms.geometry.field import GramField
from pointforms.geometry.ties import resolution

# Largest ratio of a cloud to its smallest neighbourhood. Beyond it, differences of positions in
# single precision would lose digits that V has.
_LARGEST_RATIO = 100.0
# How well pairs have to reproduce a factor, relative to its trace. Rounding is far below.
_TOLERANCE = 1e-3


def pair_scales(geometry: BatchGeometry, trace: Tensor) -> tuple[Tensor, Tensor]:
    """Return the scales s_ij before calibration (B, n, n), 0 beyond the neighbours, and their use.

    Parameters
    ----------
    geometry : BatchGeometry
        B clouds of n points.
    trace : Tensor, shape (B, n)
        Traces of their Gram fields, before calibration.

    Returns
    -------
    scales : Tensor, shape (B, n, n)
        s, divided by the power of two that :meth:`Kernel.rate` leaves out.
    accurate : Tensor of bool, shape (B,)
        Whether they are accurate enough for a cloud, see `_LARGEST_RATIO`.
    """
    lists, points = geometry.lists, geometry.points
    B, n, _ = points.shape
    squares = geometry.kernel.weights * (0.5 * geometry.kernel.rate()[0]).unsqueeze(-1)
    if lists.index is not None:
        starts = torch.arange(0, B * n, n, device=points.device).view(B, 1, 1)
        varied = lists.sq[..., -1:].sqrt() > resolution(lists.sq.dtype)
        pairs = points.new_zeros(B, n, n)
        squares = pairs.scatter_add_(-1, lists.index - starts, squares * varied)
    size = (squares @ points.square().sum(-1, keepdim=True)).squeeze(-1)
    accurate = (size <= _LARGEST_RATIO**2 * trace).all(-1)
    return squares.sqrt(), accurate


def centres(points: Tensor, scales: Tensor) -> Tensor:
    """Return c_i for points (..., n, D) with scales (..., m, n): (..., m, D)."""
    return centre_weights(scales) @ points


def centre_weights(scales: Tensor) -> Tensor:
    """Return s_ij² / Σ_j s_ij², or 0 where all scales are 0."""
    tiny = torch.finfo(scales.dtype).tiny
    squares = (scales / scales.amax(-1, keepdim=True).clamp_min(tiny)).square()
    return squares / squares.sum(-1, keepdim=True).clamp_min(tiny)


def factor_of_pairs(points: Tensor, scales: Tensor) -> Tensor:
    """Return V (n, D, n) of points (n, D) with scales (n, n).

    Examples
    --------
    >>> import torch
    >>> factor_of_pairs(torch.tensor([[0.0], [2.0]]), torch.ones(2, 2))[0]
    tensor([[-1.,  1.]])
    """
    differences = points - centres(points, scales).unsqueeze(1)  # (n, n, D)
    return (differences * scales.unsqueeze(-1)).mT


def pairs_hold(field: GramField) -> bool:
    """Return whether a field has pairs that say what its factor says.

    They do in a computed field; not if somebody put another factor in its place. It is tried on
    one random covector.
    """
    if field.pairs is None:
        return False
    V, points = field.factor.double(), field.points.double()
    generator = torch.Generator().manual_seed(0)
    probe = torch.randn(V.shape[-2], 1, dtype=V.dtype, generator=generator).to(V.device)
    values = ((points - points.mean(0)) @ probe).T  # (1, n)
    scales = field.pairs.double()
    differences = values - centre_weights(scales) @ values.T
    found = (differences * scales).square().sum(-1)
    expected = (probe.T @ V).square().sum((-2, -1))
    bound = (probe.square() * V.square().sum(-1, keepdim=True)).sum((-2, -1))
    return bool((found - expected).abs().le(_TOLERANCE * bound).all())

"""Scales of pairs of points: a short form of the Gram factor, where neighbourhoods are wide.

If most points of a cloud are neighbours of each other, the factors V_i of all points are made of
the same few differences. One number per pair of points is then enough to describe them:

    V_i = (s_ij (p_j - c_i))_j ,    c_i = Σ_j s_ij² p_j / Σ_j s_ij² .
"""

from __future__ import annotations

import torch
from torch import Tensor

from pointforms.geometry.estimate import BatchGeometry
from pointforms.geometry.ties import resolution


def pair_scales(geometry: BatchGeometry) -> Tensor:
    """Return the scales s_ij of B clouds of n points before calibration: (B, n, n).

    They are 0 for points that are not neighbours, in the unit of the geometry, and divided by the
    power of two that :meth:`Kernel.rate` leaves out.
    """
    lists, (B, n, _) = geometry.lists, geometry.points.shape
    squares = geometry.kernel.weights * (0.5 * geometry.kernel.rate()[0]).unsqueeze(-1)
    if lists.index is not None:
        starts = torch.arange(0, B * n, n, device=squares.device).view(B, 1, 1)
        varied = lists.sq[..., -1:].sqrt() > resolution(lists.sq.dtype)
        every = squares.new_zeros(B, n, n)
        squares = every.scatter_add_(-1, lists.index - starts, squares * varied)
    return squares.sqrt()


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
    differences = points - (centre_weights(scales) @ points).unsqueeze(1)  # (n, n, D)
    return (differences * scales.unsqueeze(-1)).mT

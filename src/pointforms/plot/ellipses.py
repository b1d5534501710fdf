"""Ellipses of a Gram field, and a few points that stand for many."""

from __future__ import annotations

import torch
from torch import Tensor


def outlines(points: Tensor, factor: Tensor, radius: float, sides: int = 48) -> Tensor:
    """Return outlines of G = V Vᵀ about points: (m, sides, D).

    {p + radius · V u : |u| ≤ 1} is an ellipsoid with half-axes radius · √λ along the eigenvectors
    of G; drawn is the ellipse of the two largest. Two rows of V give its shadow on two axes.

    Parameters
    ----------
    points : (m, D) tensor
        Centres of the ellipses.
    factor : (m, D, r) tensor
    radius : float
        Length at which length 1 of G is drawn.
    sides : int, default 48
        Number of corners.
    """
    t = torch.linspace(0, 2 * torch.pi, sides + 1, dtype=points.dtype)[:-1]
    U, S, _ = torch.linalg.svd(factor, full_matrices=False)
    axes = U[..., :2] * S[:, None, :2]
    circle = torch.stack([t.cos(), t.sin()])[: axes.shape[-1]]
    rings: Tensor = points[:, None] + radius * (axes @ circle).mT
    return rings


def spread_out(points: Tensor, count: int) -> Tensor:
    """Return rows of points far apart (farthest-point sampling): (count,), or all of them."""
    chosen = [0]
    distance = torch.cdist(points[:1], points)[0]
    while len(chosen) < min(count, len(points)):
        chosen.append(int(distance.argmax()))
        distance = torch.minimum(distance, torch.cdist(points[chosen[-1:]], points)[0])
    return torch.tensor(chosen)


def spacing(points: Tensor) -> float:
    """Return the median distance to the nearest other point; 1 where there is none."""
    apart = torch.cdist(points, points)
    apart.fill_diagonal_(torch.inf)
    typical = float(apart.min(1).values.median())
    return typical if 0 < typical < float("inf") else 1.0

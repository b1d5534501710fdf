"""Choose some points of a cloud that stand for all of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor


def representatives(points: Tensor, count: int, scale: Callable[[], Tensor]) -> Tensor:
    """Choose rows of each cloud (B, n, D), spread evenly from its middle to its rim: (B, m).

    m = min(n, count). The choice does not depend on the order of the points. It does not depend on
    rotations either, unless points agree both in their radius and in their local scale.

    Parameters
    ----------
    points : Tensor, shape (B, n, D)
        Centred clouds.
    count : int
        Number of points to choose.
    scale : callable
        Returns a local scale (B, n), which orders points of equal radius, such as those of a grid.
    """
    n, D = points.shape[1:]
    rank = torch.linspace(0, n - 1, min(n, count), device=points.device).round().long()
    radius = points.square().sum(-1).sqrt()
    radii, order = radius.sort(dim=-1)
    if bool((radii.diff() <= _same(points.dtype)).any()):
        functional = points @ torch.from_numpy(_functional(D)).to(points)
        order = _lexicographic(radius, scale(), functional)
    return order[:, rank]


def _same(dtype: torch.dtype) -> float:
    """Return the difference of lengths, in own units, that can be a rounding error."""
    return float(torch.finfo(dtype).eps ** 0.9)


def _lexicographic(*keys: Tensor) -> Tensor:
    """Sort rows (B, n) by the first key, equal ones by the second, and so on: indices (B, n)."""
    group = torch.zeros_like(keys[0], dtype=torch.long)
    order = group
    for key in keys:
        order = key.argsort(dim=-1, stable=True)
        order = order.gather(-1, group.gather(-1, order).argsort(dim=-1, stable=True))
        differs = key.gather(-1, order).diff() > _same(key.dtype)
        differs |= group.gather(-1, order).diff() > 0
        following = torch.nn.functional.pad(differs.cumsum(-1), (1, 0))
        group = group.scatter(-1, order, following)
    return order


@lru_cache(maxsize=256)
def _functional(D: int) -> np.ndarray:
    """Return a linear functional with unequal coefficients."""
    values: np.ndarray = np.arange(1, D + 1) * 0.618 % 1
    return values

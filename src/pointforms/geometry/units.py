"""Each cloud in units of its own extent, so that squares neither overflow nor vanish."""

from __future__ import annotations

import torch
from torch import Tensor


def own_units(points: Tensor) -> tuple[Tensor, Tensor]:
    """Centre each cloud of (B, n, D) and divide it by a power of two near its extent.

    Dividing by a power of two rounds nothing.

    Returns
    -------
    x, unit : (B, n, D), (B, 1, 1)
    """
    # divided before they are summed: the sum of large numbers could overflow
    x = points - (points / points.shape[1]).sum(1, keepdim=True)
    extent = x.abs().amax((1, 2), keepdim=True)
    unit = torch.exp2(extent.log2().floor())
    return x / unit, unit

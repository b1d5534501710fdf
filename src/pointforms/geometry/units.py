"""Express each cloud in units of its own extent, so that squares neither overflow nor vanish."""

from __future__ import annotations

import torch
from torch import Tensor


def own_units(points: Tensor) -> tuple[Tensor, Tensor]:
    """Centre each cloud of (B, n, D) and divide it by a power of two near its extent.

    Dividing by a power of two causes no rounding error.

    Returns
    -------
    x : Tensor, shape (B, n, D)
    unit : Tensor, shape (B, 1, 1)
    """
    # divide before summing, since the sum of large numbers could overflow
    x = points - (points / points.shape[1]).sum(1, keepdim=True)
    extent = x.abs().amax((1, 2), keepdim=True)
    unit = torch.exp2(extent.log2().floor())
    return x / unit, unit


def times_power_of_two(values: Tensor, power: Tensor) -> Tensor:
    """Return values times 2^power, which may itself exceed the floating-point range."""
    half = (power / 2).floor()
    return values * torch.exp2(half) * torch.exp2(power - half)

"""What a Gaussian loses when it is cut at a radius R in d dimensions.

With P the regularised lower incomplete gamma function, the Gaussian exp(-|z|²) keeps

    P(d/2, R²)                      of its mass, and
    P(d/2 + 1, R²) / P(d/2, R²)     of its second moment per unit of kept mass.

For small R² = x these are their leading terms, which survive where x^(d/2) underflows:
P(a, x) = x^a / Γ(a+1) (1 - a x / (a+1) + ...).
"""

from __future__ import annotations

import torch
from torch import Tensor

_SMALL = 1e-6


def log_kept_mass(d: Tensor, sq_radius: Tensor) -> Tensor:
    """log P(d/2, R²); 0 where R = 0 (nothing to compare with, so nothing is corrected)."""
    a, x = d.double() / 2, sq_radius.double()
    result: Tensor = torch.special.gammainc(a, x).log_()
    small = x < _SMALL
    if bool(small.any()):
        leading = a * x.log() - torch.lgamma(a + 1) - a * x / (a + 1)
        result = torch.where(small, torch.where(x > 0, leading, 0.0), result)
    return result.to(sq_radius.dtype)


def kept_second_moment(d: Tensor, sq_radius: Tensor) -> Tensor:
    """P(d/2 + 1, R²) / P(d/2, R²); 1 where R = 0."""
    a, x = d.double() / 2, sq_radius.double()
    result: Tensor = torch.special.gammainc(a + 1, x).div_(torch.special.gammainc(a, x))
    small = x < _SMALL
    if bool(small.any()):
        leading = x / (a + 1)
        result = torch.where(small, torch.where(x > 0, leading, 1.0), result)
    return result.to(sq_radius.dtype)

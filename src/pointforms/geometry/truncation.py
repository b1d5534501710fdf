"""Mass and second moment that a Gaussian keeps when it is cut at a radius R in d dimensions.

With P the regularised lower incomplete gamma function, the Gaussian exp(-|z|²) keeps

    P(d/2, R²)                      of its mass, and
    P(d/2 + 1, R²) / P(d/2, R²)     of its second moment per unit of kept mass.

In many dimensions P(a, x) underflows at moderate x. There its series is used, in logarithms:

    P(a, x) = x^a e^{-x} / Γ(a+1) (1 + S),   S = x/(a+1) + x²/((a+1)(a+2)) + ...,

so that P(a+1, x) / P(a, x) = S / (1 + S).
"""

from __future__ import annotations

import torch
from torch import Tensor

# Below this the series is used. It converges fast there because x is far below a.
_UNDERFLOW = 1e-200
_TERMS = 80


def log_kept_mass(d: Tensor, sq_radius: Tensor) -> Tensor:
    """Return log P(d/2, R²), and 0 where R = 0, so that nothing is corrected there."""
    a, x = d.double() / 2, sq_radius.double()
    P = torch.special.gammainc(a, x)
    result: Tensor = P.log()
    tiny = P < _UNDERFLOW
    if bool(tiny.any()):
        leading = a * x.log() - x - torch.lgamma(a + 1) + torch.log1p(_series(a, x))
        result = torch.where(tiny, torch.where(x > 0, leading, 0.0), result)
    return result.to(sq_radius.dtype)


def kept_second_moment(d: Tensor, sq_radius: Tensor) -> Tensor:
    """Return P(d/2 + 1, R²) / P(d/2, R²), and 1 where R = 0."""
    a, x = d.double() / 2, sq_radius.double()
    P = torch.special.gammainc(a, x)
    moment = torch.special.gammainc(a + 1, x)
    result: Tensor = moment / P
    tiny = moment < _UNDERFLOW  # which underflows first
    if bool(tiny.any()):
        S = _series(a, x)
        result = torch.where(tiny, torch.where(x > 0, S / (1 + S), 1.0), result)
    return result.to(sq_radius.dtype)


def _series(a: Tensor, x: Tensor) -> Tensor:
    """Return S for x well below a."""
    term = x / (a + 1)
    total = term.clone()
    for n in range(2, _TERMS):
        term = term * x / (a + n)
        total += term
    return total

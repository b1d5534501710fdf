"""Rates that the theory bounds, and rates fitted to measurements.

With ρ = q^β + O(ε) the error of the estimate at a point of a d-manifold is O(e), where

    e = max{ε, 1 / (√n ε^(2+d/4)), 1 / (√n ε^(1/2+d/4))}:

a bias, the noise of the density, and the noise of the sum over the sample. Under ε = n^(-ϑ) each
term is a power of n, and all three vanish for 0 < ϑ < 2 / (d + 8).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def drift_coefficient(d: int, alpha: float, beta: float) -> float:
    """Return c₁, the drift of the limit operator Δf + c₁ ∇f · ∇q/q; 0 gives the Laplacian.

    Any c₁ gives the same carré du champ: the drift is a derivation and cancels.
    """
    return 2 - 2 * alpha + d * beta + 2 * beta


def density_exponent(d: int, alpha: float, beta: float) -> float:
    """Return c₂: the error has the factor q^(-c₂), unbounded for c₂ > 0 where points are rare."""
    return 0.5 - 2 * alpha + 2 * d * alpha + d * beta / 2 + beta


def largest_theta(d: int) -> float:
    """Return the ϑ below which every term of e vanishes as n grows."""
    return 2 / (d + 8)


def balanced_theta(d: int) -> float:
    """Return the ϑ at which bias and larger noise fall alike, the fastest that e can fall."""
    return 2 / (d + 12)


def exponents(theta: float, d: int) -> tuple[float, float, float]:
    """Return the exponents of n in the three terms of e under ε = n^(-ϑ)."""
    return (-theta, -0.5 + theta * (2 + d / 4), -0.5 + theta * (0.5 + d / 4))


def predicted_slope(theta: float, d: int) -> float:
    """Return the exponent of n in e: that of its slowest term.

    It bounds the error, so a measured error may fall faster. Global pairings add the 1/√n of a
    sample mean, which is never the slowest.
    """
    if not 0 < theta < largest_theta(d):
        raise ValueError(f"theta={theta!r}: expected 0 < theta < 2 / (d + 8) = {2 / (d + 8):.3g}")
    return max(exponents(theta, d))


def fitted_slope(sizes: Sequence[int], errors: Sequence[float]) -> float:
    """Return the least-squares slope of log error against log n."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])

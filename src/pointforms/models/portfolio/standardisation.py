"""Features with mean 0 and standard deviation 1, in any unit."""

from __future__ import annotations

import numpy as np

#: The smallest positive number, so the smallest scale there can be.
SMALLEST_SCALE = float(np.finfo(np.float64).smallest_subnormal)

# A feature that varies by no more than so many rounding errors of its values is constant.
_ROUNDING = 64 * np.finfo(np.float64).eps
# Standardised values are cut off here. Those of N training clouds are below √N, so that only new
# clouds are affected which have nothing in common with them.
_LARGEST = 1e6


def centre_and_scale(X: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of every feature: (f,) and (f,).

    The scale of a constant feature is the distance from 0, so that it stays near 0 after division
    and rounding errors do not grow; it is 1 if the feature is 0.

    Multiplying a feature by a power of two multiplies its mean and its scale by the same number,
    without any rounding.

    Parameters
    ----------
    X : ndarray, shape (N, f)
        Features.
    weights : ndarray, shape (N,), or None
        Weights of the rows.
    """
    # powers of two keep squares within the range of numbers, at no cost of precision
    largest = np.abs(X).max(0)
    centre = _unit(largest) * np.average(X / _unit(largest), axis=0, weights=weights)
    deviations = X - centre
    unit = _unit(np.abs(deviations).max(0))
    scale = unit * np.sqrt(np.average((deviations / unit) ** 2, axis=0, weights=weights))
    constant = ~(scale > _ROUNDING * largest)
    return centre, np.where(constant, np.where(largest > 0, largest, 1.0), scale)


def standardised(X: np.ndarray, centre: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return (X - centre) / scale, cut off at ±10⁶, for X of shape (N, f)."""
    with np.errstate(over="ignore"):
        return np.asarray(np.clip((X - centre) / scale, -_LARGEST, _LARGEST))


def _unit(sizes: np.ndarray) -> np.ndarray:
    """Return a power of two near each size, 1 for a size of 0."""
    return np.where(sizes > 0, np.ldexp(1.0, np.frexp(sizes)[1] - 1), 1.0)

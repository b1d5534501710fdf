"""Checks of arrays that were read from a file, before any of them is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Expected:
    """What an array must be.

    Attributes
    ----------
    dtype : str
        Name of its type.
    shape : tuple of str
        Name of each of its axes. Axes of one name have one size.
    """

    dtype: str
    shape: tuple[str, ...]


def checked_arrays(
    arrays: Mapping[str, Any],
    expected: Mapping[str, Expected],
    sizes: Mapping[str, int] | None = None,
    may_be_empty: tuple[str, ...] = (),
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Return the arrays, and the sizes of their axes, or raise an error that names the wrong one.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        The arrays by their names.
    expected : mapping of str to Expected
        All names, with type and shape.
    sizes : mapping of str to int, optional
        Sizes of axes that are known beforehand.
    may_be_empty : tuple of str, default ()
        Axes that may have a size of 0.

    Examples
    --------
    >>> expected = {"centre": Expected("float64", ("K", "f")), "bias": Expected("float64", ("K",))}
    >>> checked_arrays({"centre": np.zeros((5, 2)), "bias": np.zeros(5)}, expected)[1]
    {'K': 5, 'f': 2}
    >>> checked_arrays({"centre": np.zeros((5, 2)), "bias": np.zeros(3)}, expected)
    Traceback (most recent call last):
    ValueError: array 'bias' has shape (3,): expected (5,)
    """
    different = sorted(arrays.keys() ^ expected.keys())
    if different:
        raise ValueError(
            f"array {different[0]!r} is {'unknown' if different[0] in arrays else 'missing'}: "
            f"expected {', '.join(expected)}"
        )
    found = dict(sizes or {})
    for name, (array, wanted) in {n: (arrays[n], expected[n]) for n in expected}.items():
        if not isinstance(array, np.ndarray) or array.dtype != wanted.dtype:
            kind = getattr(array, "dtype", type(array).__name__)
            raise ValueError(f"array {name!r} has the type {kind}: expected {wanted.dtype}")
        if array.ndim == len(wanted.shape):
            for axis, size in zip(wanted.shape, array.shape, strict=True):
                found.setdefault(axis, size)
        shape = tuple(found.get(axis, axis) for axis in wanted.shape)
        if array.shape != shape:
            raise ValueError(f"array {name!r} has shape {array.shape}: expected {shape}")
        empty = [axis for axis in wanted.shape if not found[axis] and axis not in may_be_empty]
        if empty:
            raise ValueError(f"array {name!r} has shape {array.shape}: expected no size of 0")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"array {name!r} has values that are not finite")
    return {name: arrays[name] for name in expected}, found


def check_range(name: str, array: np.ndarray, low: float, high: float) -> None:
    """Raise an error unless all values of an array are from `low` to `high`."""
    if array.size and not (array.min() >= low and array.max() <= high):
        raise ValueError(
            f"array {name!r} has values from {array.min()} to {array.max()}: "
            f"expected {low} to {high}"
        )

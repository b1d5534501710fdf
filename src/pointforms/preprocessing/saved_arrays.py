"""Fitted transformers as a file has them: options, fitted attributes, and arrays of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pointforms.estimators.saved_state import SavedState
from pointforms.estimators.saved_values import pack, restore_estimator, restore_learned


@dataclass(frozen=True)
class SavedArray:
    """An array of numbers among the fitted attributes, and what a saved one must be.

    Attributes
    ----------
    axes : tuple of str
        What each axis counts. "features" is the number of features of `fit`; any other word stands
        for one number, the same in all arrays.
    positive : bool, default False
        Whether all values are above 0.
    gaps : bool, default False
        Whether values may be NaN.
    optional : bool, default False
        Whether a fitted transformer may lack it.
    """

    axes: tuple[str, ...]
    positive: bool = False
    gaps: bool = False
    optional: bool = False


def save_transformer(transformer: Any) -> SavedState:
    """Return a fitted transformer as a file has it."""
    tensors = {
        name: torch.from_numpy(np.array(getattr(transformer, name), np.float64, order="C"))
        for name in transformer._arrays
        if hasattr(transformer, name)
    }
    return SavedState(pack(transformer), tensors)


def restore_transformer(cls: Any, state: SavedState) -> Any:
    """Return the transformer that :func:`save_transformer` was given."""
    transformer = restore_estimator(cls, state.config)
    for name, value in restore_learned(cls, state.config, outputs=0).items():
        setattr(transformer, name, value)
    lengths = {"features": transformer.n_features_in_}
    for name, array in restore_arrays(cls._arrays, state.tensors, lengths).items():
        setattr(transformer, name, array)
    transformer._check_restored()
    return transformer


def restore_arrays(
    expected: Mapping[str, SavedArray], tensors: Mapping[str, Tensor], lengths: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """Return arrays that were read from a file, or raise an error if one is not as expected.

    Parameters
    ----------
    expected : mapping of str to SavedArray
        What each array must be.
    tensors : mapping of str to Tensor
        What the file has.
    lengths : mapping of str to int
        Lengths of axes that are known, by what the axes count.

    Examples
    --------
    >>> restore_arrays({"mean": SavedArray(("features",))}, {"mean": torch.ones(3)}, {})
    Traceback (most recent call last):
    ValueError: array mean has shape (3,) and type float32: expected features of float64
    """
    unknown = sorted(tensors.keys() - expected.keys())
    if unknown:
        raise ValueError(f"it has an array {unknown[0]!r} that is not known")
    known = dict(lengths)
    arrays = {}
    for name, described in expected.items():
        if name not in tensors:
            if described.optional:
                continue
            raise ValueError(f"the array {name!r} is missing")
        array = tensors[name].numpy()
        if array.dtype != np.float64 or array.ndim != len(described.axes):
            raise ValueError(
                f"array {name} has shape {array.shape} and type {array.dtype}: expected "
                f"{' × '.join(described.axes)} of float64"
            )
        for axis, length in zip(described.axes, array.shape, strict=True):
            if known.setdefault(axis, length) != length:
                raise ValueError(f"array {name} has {length} {axis}: expected {known[axis]}")
        values = array[~np.isnan(array)] if described.gaps else array
        if not np.isfinite(values).all() or (described.positive and not (values > 0).all()):
            raise ValueError(f"array {name} has values that are not possible")
        arrays[name] = array
    return arrays

"""Fitted transformers as a file has them: options, fitted attributes, and arrays of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

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
    unknown = sorted(state.tensors.keys() - cls._arrays.keys())
    if unknown:
        raise ValueError(f"it has an array {unknown[0]!r} that no {cls.__name__} has")
    lengths = {"features": transformer.n_features_in_}
    for name, described in cls._arrays.items():
        if name not in state.tensors:
            if described.optional:
                continue
            raise ValueError(f"the array {name!r} is missing")
        array = state.tensors[name].numpy()
        if array.dtype != np.float64 or array.ndim != len(described.axes):
            raise ValueError(f"array {name} has shape {array.shape} and type {array.dtype}")
        for axis, length in zip(described.axes, array.shape, strict=True):
            if lengths.setdefault(axis, length) != length:
                raise ValueError(f"array {name} has {length} {axis}: expected {lengths[axis]}")
        values = array[~np.isnan(array)] if described.gaps else array
        if not np.isfinite(values).all() or (described.positive and not (values > 0).all()):
            raise ValueError(f"array {name} has values that are not possible")
        setattr(transformer, name, array)
    transformer._check_restored()
    return transformer

"""Fitted features of classical classifiers as a file has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from pydantic import PositiveInt

from pointforms.estimators import PointFormTransformer
from pointforms.estimators.saved_state import SavedState
from pointforms.estimators.saved_values import Attribute, Names, pack, restore_estimator
from pointforms.estimators.saved_values import restore_learned as restore_values
from pointforms.estimators.units import Units
from pointforms.models.composition import Composition
from pointforms.models.distances import DistributionVectors
from pointforms.models.hodge import HodgeFeatures
from pointforms.preprocessing.saved_arrays import SavedArray, restore_arrays
from pointforms.summaries import PooledSummaries

_LEARNED: dict[str, Attribute] = {
    "n_features_in_": Attribute(PositiveInt),
    "feature_names_in_": Attribute(Names, length="features", optional=True),
}
_UNITS = {
    "center": SavedArray(("features",), optional=True),
    "unit": SavedArray(("features",), positive=True, optional=True),
}
# Fitted attributes of each class: values, and arrays.
_CLASSES: dict[type, tuple[dict[str, Attribute], dict[str, SavedArray]]] = {
    PooledSummaries: (_LEARNED, {}),
    Composition: (_LEARNED, {**_UNITS, "centers_": SavedArray(("clusters", "inputs"))}),
    DistributionVectors: (
        _LEARNED,
        {
            **_UNITS,
            "directions_": SavedArray(("inputs", "directions")),
            "spacing_": SavedArray(("directions",), optional=True),
            "thresholds_": SavedArray(("levels", "directions"), optional=True),
        },
    ),
    HodgeFeatures: (
        _LEARNED | {name: Attribute(PositiveInt) for name in ("neighbors_", "dimension_")},
        {
            **_UNITS,
            "mean_": SavedArray(("features",)),
            "scale_": SavedArray(("features",), positive=True),
            "axes_": SavedArray(("coordinates", "features")),
        },
    ),
}
_NAMES = {cls.__name__: cls for cls in _CLASSES}


def saved_features(transformer: Any) -> SavedState:
    """Return fitted features as a file has them, or raise an error for a class of somebody else."""
    if type(transformer) is PointFormTransformer:
        return transformer._to_saved()
    if type(transformer) not in _CLASSES:
        known = ", ".join(["PointFormTransformer", *_NAMES])
        raise ValueError(f"its features are a {type(transformer).__name__}: expected {known}")
    learned, arrays = _CLASSES[type(transformer)]
    units = getattr(transformer, "units_", None)
    values = {name: getattr(transformer, name) for name in arrays if hasattr(transformer, name)}
    if units is not None:
        values |= {"center": units.center.numpy(), "unit": units.unit.numpy()}
    tensors = {name: torch.from_numpy(np.array(value)) for name, value in values.items()}
    return SavedState(pack(transformer, learned), tensors)


def restored_features(state: SavedState) -> Any:
    """Return the features that :func:`saved_features` was given, on the CPU."""
    name = state.config.get("class")
    if name == PointFormTransformer.__name__:
        return PointFormTransformer._from_saved(state)
    if name not in _NAMES:
        raise ValueError(f"its features are a {name!r}: expected one of {', '.join(_NAMES)}")
    cls: Any = _NAMES[name]
    learned, arrays = _CLASSES[cls]
    transformer = restore_estimator(cls, state.config)
    for attribute, value in restore_values(cls, state.config, 0, learned).items():
        setattr(transformer, attribute, value)
    values = restore_arrays(arrays, state.tensors, {"features": transformer.n_features_in_})
    center, unit = values.pop("center", None), values.pop("unit", None)
    if center is not None and unit is not None:
        transformer.units_ = Units(torch.from_numpy(center), torch.from_numpy(unit))
    elif "center" in arrays and getattr(transformer, "scale", None) is not None:
        raise ValueError("its units are missing")
    for attribute, value in values.items():
        setattr(transformer, attribute, value)
    _check(transformer)
    return transformer


def _check(transformer: Any) -> None:
    """Raise an error unless arrays and options fit together."""
    if isinstance(transformer, Composition | DistributionVectors):
        width = transformer.n_features_in_ * (2 if transformer.frame == "both" else 1)
        read = (
            transformer.centers_.shape[1]
            if isinstance(transformer, Composition)
            else len(transformer.directions_)
        )
        if read != width:
            raise ValueError(f"its features read {read} coordinates: expected {width}")
    if isinstance(transformer, DistributionVectors):
        energy = transformer.distance == "sliced-energy"
        if energy != hasattr(transformer, "thresholds_") or energy != hasattr(
            transformer, "spacing_"
        ):
            raise ValueError("its thresholds do not fit its distance")
        if energy and len(transformer.thresholds_) != transformer.levels:
            raise ValueError("its thresholds do not fit its levels")

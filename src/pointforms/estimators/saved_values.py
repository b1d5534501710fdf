"""Options and fitted attributes as JSON has them, and what they must be to be read again."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError

from pointforms.support.options import shown
from pointforms.support.suggestions import suggest

# Options that belong to a machine rather than to a model: neither written nor read.
_LOCAL = ("cache",)
# Fitted attributes of version 0.1.0 that nothing reads any more.
_RETIRED = ("outputs_",)
# Types of arrays: truth values, whole numbers, numbers, text, and Python objects of such types.
_DTYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|U\d+|O)")
_LARGEST_ARRAY = 64 << 20  # bytes
# What `set_output` of a transformer may be given.
_OUTPUTS = ("default", "pandas", "polars")
_RESERVED = ("pairs", "values", "dtype")
_STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)


@dataclass(frozen=True)
class Attribute:
    """A fitted attribute that is saved, and what a saved value must be.

    Attributes
    ----------
    type : type
        Type of the value, as pydantic understands it; for arrays `Labels`, `Names` or `Floats`.
    length : {"features", "outputs"} or None, default None
        The value has one entry per feature of the clouds, or per output of the estimator.
    optional : bool, default False
        Whether an estimator may lack the attribute, such as one saved by an older version.
    """

    type: Any
    length: Literal["features", "outputs"] | None = None
    optional: bool = False


def _labels(array: np.ndarray) -> np.ndarray:
    values = array.tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("expected finite numbers")
    if len(set(values)) < len(values):
        raise ValueError("expected different values")
    return array


def _names(array: np.ndarray) -> np.ndarray:
    if not all(isinstance(value, str) for value in array.tolist()):
        raise ValueError("expected text")
    return array


def _floats(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        raise ValueError("expected finite numbers")
    return array


#: Arrays of one dimension: labels of classes, names, and finite numbers.
Labels = Annotated[np.ndarray, AfterValidator(_labels)]
Names = Annotated[np.ndarray, AfterValidator(_names)]
Floats = Annotated[np.ndarray, AfterValidator(_floats)]


def pack(estimator: Any, declared: Mapping[str, Attribute] | None = None) -> dict[str, Any]:
    """Return class, options and fitted attributes as JSON has them.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator.
    declared : mapping of str to Attribute, optional
        Its fitted attributes; by default those that its class declares in `_learned`.
    """
    options = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in estimator.get_params(deep=False).items()
        if name not in _LOCAL
    }
    learned = {
        name: getattr(estimator, name)
        for name, attribute in (declared or estimator._learned).items()
        if not attribute.optional or hasattr(estimator, name)
    }
    config = {
        "class": type(estimator).__name__,
        "options": {name: _plain(value) for name, value in options.items()},
        "learned": {name: _plain(value) for name, value in learned.items()},
    }
    output = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    return config if output is None else config | {"output": output}


def restore_estimator(
    cls: Any, config: Mapping[str, Any], missing: Mapping[str, Any] | None = None
) -> Any:
    """Return an estimator that is not fitted, with the options that :func:`pack` was given.

    If the machine lacks the device of the options, the estimator has the CPU instead.

    Parameters
    ----------
    cls : type
        The class.
    config : mapping
        What :func:`pack` returned.
    missing : mapping, optional
        Options whose default is not what they are if the configuration lacks them.
    """
    options = {**(missing or {}), **_restored_options(cls, _entries(config, "options"))}
    estimator = cls(**options)
    device = getattr(estimator, "device", None)
    if isinstance(device, str) and not _is_available(device):
        estimator.device = "cpu"
    estimator.check_options()
    if "output" in config:
        if config["output"] not in _OUTPUTS:
            raise ValueError(f"its output is {shown(config['output'])}: expected one of {_OUTPUTS}")
        estimator.set_output(transform=config["output"])
    return estimator


def _restored_options(cls: Any, saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return options whose names are checked; `check_options` checks their values."""
    options = {}
    for name, value in saved.items():
        if name not in cls._get_param_names():
            raise ValueError(f"{name!r} is no option: {suggest(name, cls._get_param_names())}")
        if name not in _LOCAL:
            value = _restored(value)
            options[name] = tuple(value) if isinstance(value, list) else value
    return options


def restore_learned(
    cls: Any,
    config: Mapping[str, Any],
    outputs: int,
    declared: Mapping[str, Attribute] | None = None,
) -> dict[str, Any]:
    """Return the fitted attributes of a class from what :func:`pack` made of them, checked.

    Parameters
    ----------
    cls : type
        The class, which declares its attributes in `_learned`.
    config : mapping
        What :func:`pack` returned.
    outputs : int
        Number of outputs of the estimator: classes, or targets.
    declared : mapping of str to Attribute, optional
        The attributes, if the class does not declare them.
    """
    declared = cls._learned if declared is None else declared
    saved = _entries(config, "learned")
    for name in saved:
        if name not in declared and name not in _RETIRED:
            raise ValueError(f"{name!r} is no fitted attribute: {suggest(name, declared)}")
    learned = {}
    for name, attribute in declared.items():
        if name in saved:
            value = _restored(saved[name])
            learned[name] = _checked(name, attribute.type, value)
        elif not attribute.optional:
            raise ValueError(f"the fitted attribute {name!r} is missing")
    lengths = {"features": learned["n_features_in_"], "outputs": outputs}
    for name, value in learned.items():
        length = declared[name].length
        if length is not None and len(value) != lengths[length]:
            raise ValueError(
                f"attribute {name} has {len(value)} entries for {lengths[length]} {length}"
            )
    return learned


def restore_weights_of_format_1(estimator: Any, learned: Mapping[str, Any]) -> None:
    """Replace the keys of a dictionary of class weights, which had become text, by the classes."""
    weights = estimator.class_weight
    if isinstance(weights, dict) and "classes_" in learned:
        labels = set(learned["classes_"].tolist())
        estimator.class_weight = {_label(key, labels): value for key, value in weights.items()}


def _label(key: str, labels: set[Any]) -> Any:
    """Return the label whose text in JSON is `key`."""
    if key not in labels:
        try:
            value = json.loads(key)
        except ValueError:
            return key
        if isinstance(value, int | float) and value in labels:
            return value
    return key


def _entries(config: Mapping[str, Any], key: str) -> dict[str, Any]:
    entries = config.get(key)
    if not isinstance(entries, dict):
        raise ValueError(f"its configuration is damaged: no {key}")
    return entries


def _is_available(device: str) -> bool:
    if torch.device(device).type == "meta":
        raise ValueError(f"device={device!r} holds no numbers")
    try:
        torch.empty(0, device=device)
    except Exception:  # torch has many for a device that is not there
        return False
    return True


def _checked(name: str, kind: Any, value: Any) -> Any:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind, config=_STRICT)
        adapter.validate_python(value)
    except ValidationError as error:
        message = error.errors()[0]["msg"]
        raise ValueError(f"attribute {name} is {shown(value)}: {message}") from None
    return value


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; arrays keep their type, keys of dictionaries theirs."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {"values": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, Mapping):
        entries = {_plain(key): _plain(entry) for key, entry in value.items()}
        if all(isinstance(key, str) and key not in _RESERVED for key in entries):
            return entries
        return {"pairs": [list(pair) for pair in entries.items()]}  # keys of JSON are text
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.random.RandomState):
        return None  # its seed is not known any more
    return value


def _restored(value: Any) -> Any:
    """Return a value from what :func:`_plain`, or format 1, made of it."""
    if isinstance(value, list):
        return [_restored(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"pairs"}:
        return {key: _restored(entry) for key, entry in value["pairs"]}
    if value.keys() == {"values", "dtype"}:
        return _restored_array(**value)
    return value


def _restored_array(values: Any, dtype: Any) -> np.ndarray:
    if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype) or not isinstance(values, list):
        raise ValueError(f"an array of type {dtype!r} is none that is saved")
    if not all(isinstance(entry, str | int | float) for entry in values):
        raise ValueError("an array holds something else than text and numbers")
    if len(values) * np.dtype(dtype).itemsize > _LARGEST_ARRAY:
        raise ValueError(f"an array of {len(values)} entries of type {dtype!r} is too large")
    array = np.array(values, dtype=dtype)
    if array.tolist() != values:
        raise ValueError(f"an array of type {dtype!r} has other values")
    return array

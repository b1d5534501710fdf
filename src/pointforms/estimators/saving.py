"""Fitted estimators on disk: options and attributes as JSON, parameters as safetensors."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from pointforms.support.files import atomic

_FORMAT = 1
_CONFIG, _MODEL = "estimator.json", "model.safetensors"

# Every class that `load` can make, by its name.
_classes: dict[str, type] = {}


def register(cls: type) -> None:
    """Let `load` find a class by its name."""
    _classes[cls.__name__] = cls


def save(estimator: Any, folder: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a folder, complete or not at all."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise ValueError(f"{str(folder)!r} is a file: expected a folder")
    if target.is_dir() and any(target.iterdir()) and not (target / _CONFIG).exists():
        raise ValueError(f"{str(folder)!r} holds something else: choose an empty folder")
    config = {
        "format": _FORMAT,
        "class": type(estimator).__name__,
        "options": estimator.get_params(deep=False),
        "learned": {
            name: _learned(getattr(estimator, name))
            for name in estimator._learned
            if hasattr(estimator, name)  # clouds without names leave no feature_names_in_
        },
    }
    text = json.dumps(config, indent=1, default=_plain)
    state = estimator.model_.state_dict()
    with atomic(target) as partial:
        partial.mkdir()
        tensors = {name: value.detach().cpu().contiguous() for name, value in state.items()}
        save_file(tensors, partial / _MODEL)
        (partial / _CONFIG).write_text(text, encoding="utf-8")


def load(folder: str | os.PathLike[str]) -> Any:
    """Read the estimator that the method `save` of a point-form estimator wrote.

    Parameters
    ----------
    folder : path-like
        The folder that was given to `save`, by this version or an older one.

    Returns
    -------
    PointFormClassifier, PointFormRegressor or PointFormTransformer
        The fitted estimator, with the options it had.

    Examples
    --------
    >>> import tempfile
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=20, points=16)
    >>> fitted = pf.PointFormTransformer(forms=2, epochs=0, random_state=0).fit(task.clouds)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fitted.save(folder)
    ...     again = pf.load(folder)
    >>> bool((again.transform(task.clouds) == fitted.transform(task.clouds)).all())
    True
    """
    path = Path(folder)
    if not (path / _CONFIG).is_file():
        raise FileNotFoundError(f"no saved estimator in {str(folder)!r}")
    try:
        config = json.loads((path / _CONFIG).read_text(encoding="utf-8"))
        version, name = config["format"], config["class"]
        options, learned = config["options"], config["learned"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{str(path / _CONFIG)!r} is damaged: {error!r}") from None
    if not isinstance(version, int) or version > _FORMAT:
        raise ValueError(
            f"{str(folder)!r} has format {version}, this version reads up to {_FORMAT}: "
            "update pointforms"
        )
    if name not in _classes:
        raise ValueError(
            f"{str(folder)!r} holds a {name!r}: expected one of {', '.join(sorted(_classes))}"
        )
    for key in ("degree", "hidden"):
        if isinstance(options.get(key), list):
            options[key] = tuple(options[key])
    try:
        estimator = _classes[name](**options)
        for attribute, value in learned.items():
            setattr(estimator, attribute, _restored(value))
        tensors = load_file(path / _MODEL)
        outputs = len(tensors["head.2.bias" if estimator.head else "head.0.bias"])
        model = estimator._new_model(outputs)
        model.load_state_dict(tensors)
    except (SafetensorError, OSError, RuntimeError, KeyError, TypeError) as error:
        raise ValueError(f"{str(folder)!r} is damaged: {error}") from None
    estimator.model_ = model.eval()
    return estimator


def _learned(value: Any) -> Any:
    """Return a fitted attribute as JSON has it; an array, such as the classes, keeps its type."""
    if isinstance(value, np.ndarray):
        return {"values": value.tolist(), "dtype": value.dtype.str}
    return value


def _restored(value: Any) -> Any:
    """Return a fitted attribute from what :func:`_learned` made of it."""
    if isinstance(value, dict):
        return np.array(value["values"], dtype=value["dtype"])
    return value


def _plain(value: Any) -> Any:
    """Return a value that JSON does not know as one that it knows."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.random.RandomState):
        return None  # its seed is not known any more
    raise TypeError(f"{value!r} is a {type(value).__name__}, which JSON cannot hold")

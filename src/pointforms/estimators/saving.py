"""Fitted estimators on disk: options and attributes as JSON, parameters as safetensors."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

_FORMAT = 1
_CONFIG, _MODEL = "estimator.json", "model.safetensors"


def save(estimator: Any, folder: str | os.PathLike[str]) -> None:
    """Write an estimator to a folder, whole or not at all."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise ValueError(f"{str(folder)!r} is a file: expected a folder")
    if target.is_dir() and any(target.iterdir()) and not (target / _CONFIG).exists():
        raise ValueError(f"{str(folder)!r} holds something else: choose an empty folder")
    config = {
        "format": _FORMAT,
        "class": type(estimator).__name__,
        "options": _plain(estimator.get_params(deep=False)),
        "learned": _plain(estimator._learned()),
    }
    partial = target.with_name(f".{target.name}-{uuid.uuid4().hex}")
    partial.mkdir(parents=True)
    try:
        tensors = {
            k: v.detach().cpu().contiguous() for k, v in estimator.model_.state_dict().items()
        }
        save_file(tensors, partial / _MODEL)
        (partial / _CONFIG).write_text(json.dumps(config, indent=1), encoding="utf-8")
        if target.exists():
            shutil.rmtree(target)
        os.replace(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def load(folder: str | os.PathLike[str]) -> Any:
    """The estimator that `save` wrote."""
    from pointforms.estimators import predictors

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
    kinds = {
        c.__name__: c
        for c in (
            predictors.PointFormClassifier,
            predictors.PointFormRegressor,
            predictors.PointFormTransformer,
        )
    }
    if name not in kinds:
        raise ValueError(f"{str(folder)!r} holds a {name!r}, which is not an estimator of ours")
    for key in ("degree", "hidden"):
        if isinstance(options.get(key), list):
            options[key] = tuple(options[key])
    try:
        estimator = kinds[name](**options)
        outputs = estimator._restore(dict(learned))
        model = estimator._new_model(outputs)
        model.load_state_dict(load_file(path / _MODEL))
    except (SafetensorError, OSError, RuntimeError, KeyError, TypeError) as error:
        raise ValueError(f"{str(folder)!r} is damaged: {error}") from None
    estimator.model_ = model.eval()
    return estimator


def _plain(value: Any) -> Any:
    """As JSON knows it."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.random.RandomState):
        return None  # its seed is not known any more
    return value

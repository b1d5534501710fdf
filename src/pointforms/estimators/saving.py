"""Fitted estimators in folders: one file, which is replaced in one step.

A folder holds a complete model at any time, whatever fails and whoever else writes to it. Versions
up to 0.2.0 wrote two files, which are still read.
"""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol, Self

from pointforms.estimators import model_file
from pointforms.estimators.provenance import Provenance
from pointforms.estimators.saved_state import SavedState
from pointforms.support.blame import warn_caller
from pointforms.support.files import PARTIAL_PREFIX, atomic
from pointforms.support.saved_classes import registered_class

_MODEL = "model.safetensors"
_CONFIG_OF_FORMAT_1 = "estimator.json"
# Where the configuration has the provenance.
_PROVENANCE = "provenance"


class Saveable(Protocol):
    """What an estimator defines to be saved; its class is registered in `support.saved_classes`."""

    device: str

    def _to_saved(self) -> SavedState:
        """Return everything that predictions need."""

    @classmethod
    def _from_saved(cls, state: SavedState) -> Self:
        """Return a fitted estimator on the CPU; raise a ValueError if a value is not possible."""

    def _to_device(self) -> None:
        """Move everything to the device that the options name."""


def save(
    estimator: Saveable, folder: str | os.PathLike[str], provenance: Provenance | None = None
) -> None:
    """Write a fitted estimator to a folder, complete or not at all; leave other files alone.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator that has a method `save`.
    folder : path-like
        A folder that is empty, holds a saved model, or does not exist.
    provenance : Provenance, optional
        Where the model comes from; :func:`read_provenance` reads it.

    Examples
    --------
    >>> import tempfile
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=20, points=16)
    >>> fitted = pf.PointFormTransformer(forms=2, epochs=0, random_state=0).fit(task.clouds)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pf.estimators.save(fitted, folder, pf.estimators.Provenance(task.name))
    ...     pf.estimators.read_provenance(folder).data
    'circles-vs-lines'
    """
    target = Path(folder)
    check_target(target)
    state = _saved_state(estimator)
    if provenance is not None:
        state = SavedState(state.config | {_PROVENANCE: provenance.to_json()}, state.tensors)
    try:
        content = model_file.written(state)
        _restored(model_file.read(BytesIO(content), len(content)))
    except Exception as error:
        raise ValueError(f"this {type(estimator).__name__} cannot be saved: {error}") from error
    with atomic(target / _MODEL) as partial, partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    # from here on the new model is the one that `load` reads
    if _is_config_of_format_1(target / _CONFIG_OF_FORMAT_1):
        (target / _CONFIG_OF_FORMAT_1).unlink(missing_ok=True)


def _saved_state(estimator: Saveable) -> SavedState:
    try:
        return estimator._to_saved()
    except Exception as error:
        raise ValueError(f"this {type(estimator).__name__} cannot be saved: {error}") from error


def check_target(target: Path) -> None:
    """Raise an error if a model cannot be saved here, because something else is."""
    if target.exists() and not target.is_dir():
        raise ValueError(f"{str(target)!r} is a file: expected a folder")
    if target.is_dir() and not (_holds_model(target) or _is_empty(target)):
        raise ValueError(f"{str(target)!r} holds something else: choose an empty folder")


def read_provenance(folder: str | os.PathLike[str]) -> Provenance | None:
    """Read where a saved model comes from.

    Parameters
    ----------
    folder : path-like
        A folder that a model was saved to.

    Returns
    -------
    Provenance or None
        None if the model was saved without.

    Examples
    --------
    >>> import tempfile
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=20, points=16)
    >>> fitted = pf.PointFormTransformer(forms=2, epochs=0, random_state=0).fit(task.clouds)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fitted.save(folder)
    ...     pf.estimators.read_provenance(folder) is None
    True
    """
    path = Path(folder) / _MODEL
    if not path.is_file():
        raise FileNotFoundError(f"no saved estimator in {str(folder)!r}")
    try:
        with path.open("rb") as file:
            old = path.with_name(_CONFIG_OF_FORMAT_1)
            config = model_file.read(file, os.fstat(file.fileno()).st_size, old).config
        given = config.get(_PROVENANCE)
        return None if given is None else Provenance.from_json(given)
    except PermissionError:
        raise
    except Exception as error:  # whatever a bad byte leads to
        raise ValueError(f"{str(folder)!r} cannot be loaded: {error}") from error


def load(folder: str | os.PathLike[str]) -> Any:
    """Read the estimator that the method `save` of an estimator wrote.

    Nothing in the file is trusted: it cannot run code, name files, or make `load` allocate more
    than its own size. If the machine lacks the device of the model, the model moves to the CPU,
    with a warning.

    Parameters
    ----------
    folder : path-like
        The folder that was given to `save`, by this version or an older one.

    Returns
    -------
    estimator
        The fitted estimator, such as a :class:`pointforms.CloudClassifier` or a
        :class:`pointforms.PointFormRegressor`, with the options it had. Only `cache` is None,
        because it names a folder of the machine that saved the model, and a `random_state` that
        was no number.

    Raises
    ------
    FileNotFoundError
        If the folder has no saved estimator.
    ValueError
        If it has one that is damaged, or that this version cannot read.

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
    model, old = path / _MODEL, path / _CONFIG_OF_FORMAT_1
    if not model.is_file() and not old.is_file():
        raise FileNotFoundError(f"no saved estimator in {str(folder)!r}")
    try:
        with model.open("rb") as file:
            state = model_file.read(file, os.fstat(file.fileno()).st_size, old)
        estimator = _restored(state)
    except PermissionError:
        raise
    except Exception as error:  # whatever a bad byte leads to
        raise ValueError(f"{str(folder)!r} cannot be loaded: {error}") from error
    device = state.config["options"].get("device", estimator.device)
    if estimator.device != device:
        warn_caller(
            f"{str(folder)!r} was saved with device={device!r}, which is not available here: "
            f"using device={estimator.device!r}"
        )
    estimator._to_device()
    return estimator


def _restored(state: SavedState) -> Saveable:
    estimator: Saveable = registered_class(state.config.get("class"))._from_saved(state)
    return estimator


def _is_empty(folder: Path) -> bool:
    # a killed process may have left an unfinished file
    return all(path.name.startswith(PARTIAL_PREFIX) for path in folder.iterdir())


def _holds_model(folder: Path) -> bool:
    return _is_config_of_format_1(folder / _CONFIG_OF_FORMAT_1) or model_file.is_model(
        folder / _MODEL
    )


def _is_config_of_format_1(path: Path) -> bool:
    try:
        return bool(json.loads(path.read_bytes()).keys() >= {"format", "class", "options"})
    except (OSError, ValueError, AttributeError, RecursionError):
        return False

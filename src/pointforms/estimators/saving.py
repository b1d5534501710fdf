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

from sklearn.utils.validation import check_is_fitted

from pointforms.estimators import model_file
from pointforms.estimators.provenance import Provenance
from pointforms.estimators.saved_pipelines import parts_of, restore_state, state_of
from pointforms.estimators.saved_state import SavedState
from pointforms.support.blame import warn_caller
from pointforms.support.files import PARTIAL_PREFIX, atomic

_MODEL = "model.safetensors"
_CONFIG_OF_FORMAT_1 = "estimator.json"
# Where the configuration has the provenance.
_PROVENANCE = "provenance"


class Saveable(Protocol):
    """What an estimator defines to be saved; its class is registered in `support.saved_classes`."""

    def _to_saved(self) -> SavedState:
        """Return everything that predictions need."""

    @classmethod
    def _from_saved(cls, state: SavedState) -> Self:
        """Return a fitted estimator on the CPU; raise a ValueError if a value is not possible.

        One that computes on a device has the option `device`, and a method `_to_device`, which
        moves everything there.
        """


def save(
    estimator: Any, folder: str | os.PathLike[str], provenance: Provenance | None = None
) -> None:
    """Write a fitted estimator or pipeline to a folder, complete or not at all.

    Files that are already in the folder stay as they are. The file holds numbers and text, and no
    pickled objects.

    Parameters
    ----------
    estimator : estimator or sklearn.pipeline.Pipeline
        A fitted estimator of this library, or a pipeline of such estimators, for instance of
        transformers of `pointforms.preprocessing` and a classifier. What a grid search has found is
        its `best_estimator_`.
    folder : path-like
        A new or empty folder, or one with a saved estimator, which is replaced.
    provenance : Provenance or None, default None
        Where the model comes from; :func:`read_provenance` reads it.

    Examples
    --------
    >>> import tempfile
    >>> import pointforms as pf
    >>> from sklearn.pipeline import make_pipeline
    >>> task = pf.tasks.load("circles-vs-lines", clouds=20, points=16)
    >>> forms = pf.PointFormTransformer(forms=2, epochs=0, random_state=0)
    >>> pipeline = make_pipeline(pf.preprocessing.Arcsinh(), forms).fit(task.clouds)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pf.save(pipeline, folder, pf.estimators.Provenance(task.name))
    ...     again = pf.load(folder)
    ...     pf.estimators.read_provenance(folder).data
    'circles-vs-lines'
    >>> bool((again.transform(task.clouds) == pipeline.transform(task.clouds)).all())
    True
    """
    check_is_fitted(estimator)
    target = Path(folder)
    check_target(target)
    try:
        state = state_of(estimator)
        if provenance is not None:
            state = SavedState(state.config | {_PROVENANCE: provenance.to_json()}, state.tensors)
        content = model_file.written(state)
        restore_state(model_file.read(BytesIO(content), len(content)))
    except Exception as error:
        raise ValueError(f"this {type(estimator).__name__} cannot be saved: {error}") from error
    with atomic(target / _MODEL) as partial, partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    # from here on the new model is the one that `load` reads
    if _is_config_of_format_1(target / _CONFIG_OF_FORMAT_1):
        (target / _CONFIG_OF_FORMAT_1).unlink(missing_ok=True)


def check_target(target: Path) -> None:
    """Raise an error if a model cannot be saved here, because something else is."""
    if target.exists() and not target.is_dir():
        raise ValueError(f"{str(target)!r} is a file: expected a folder")
    # empty first: a model that another process saves meanwhile is then found by the second look
    if target.is_dir() and not (_is_empty(target) or _holds_model(target)):
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
    """Read the estimator or pipeline that `save` wrote.

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
        estimator = restore_state(state)
    except PermissionError:
        raise
    except Exception as error:  # whatever a bad byte leads to
        raise ValueError(f"{str(folder)!r} cannot be loaded: {error}") from error
    for part, config in parts_of(estimator, state.config):
        device = config["options"].get("device")
        if device is not None and part.device != device:
            warn_caller(
                f"{str(folder)!r} was saved with device={device!r}, which is not available here: "
                f"using device={part.device!r}"
            )
        if hasattr(part, "_to_device"):
            part._to_device()
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

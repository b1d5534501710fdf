"""What a fit can be: the limits of every number of a record, wherever the record comes from."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import isnan
from numbers import Integral, Real
from typing import Any

import numpy as np

from pointforms.tasks.task import FOLDS

_MOST = 2**63 - 1  # what a store can hold
_SEEDS = 2**31 - 1  # what every generator of random numbers takes
_FINITE = sys.float_info.max

#: Smallest and largest value of whole numbers by name.
_WHOLE = {
    "fold": (0, FOLDS - 1),
    "seed": (0, _SEEDS),
    "task_seed": (0, _MOST),
    "train_size": (0, _MOST),
    "test_size": (0, _MOST),
    "parameters": (0, _MOST),
    "memory": (0, _MOST),
    "epochs": (0, _MOST),
}
#: Whole numbers that may be unknown.
_OPTIONAL = {"parameters", "memory", "epochs"}
#: Largest value of numbers from 0 that are NaN where they are not known.
_REAL = {
    "auroc": 1.0,
    "accuracy": 1.0,
    "log_loss": _FINITE,
    "brier": 2.0,
    "validation_loss": _FINITE,
    "seconds": _FINITE,
}


def check_row(values: Mapping[str, Any]) -> None:
    """Raise an error unless values are those of a configuration.

    Parameters
    ----------
    values : mapping
        The attributes of a :class:`Row`.

    Examples
    --------
    >>> sizes = {"clouds": 0, "points": None, "task_seed": 0}
    >>> check_row({"task": "colocated", "model": "mlp", **sizes})
    Traceback (most recent call last):
    ValueError: clouds=0: expected a whole number of at least 1, or nothing
    """
    for name in ("task", "model"):
        if not isinstance(values[name], str) or not values[name]:
            raise ValueError(f"{name}={values[name]!r}: expected a name")
    for name in ("clouds", "points"):
        if values[name] is not None:
            _check_whole(name, values[name], 1, _MOST, ", or nothing")
    _check_whole("task_seed", values["task_seed"], *_WHOLE["task_seed"])


def check_fit(values: Mapping[str, Any]) -> None:
    """Raise an error unless values are those of a fit.

    Parameters
    ----------
    values : mapping
        The attributes of a :class:`Record`.
    """
    for name, limits in _WHOLE.items():
        if name in values and not (values[name] is None and name in _OPTIONAL):
            _check_whole(name, values[name], *limits, ", or nothing" * (name in _OPTIONAL))
    for name, most in _REAL.items():
        _check_real(name, values[name], most)
    _check_predictions(values["clouds"], values["probabilities"], values["test_size"])


def _check_whole(name: str, value: Any, least: int, most: int, or_else: str = "") -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, Integral)
        or not least <= int(value) <= most
    ):
        limits = f"of at least {least}" if most == _MOST else f"from {least} to {most}"
        raise ValueError(f"{name}={value!r}: expected a whole number {limits}{or_else}")


def _check_real(name: str, value: Any, most: float) -> None:
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not (isnan(value) or 0 <= value <= most):
        limits = "of at least 0" if most == _FINITE else f"from 0 to {most:g}"
        raise ValueError(f"{name}={value!r}: expected a finite number {limits}")


def _check_predictions(clouds: Any, probabilities: Any, test_size: int) -> None:
    if clouds is None and probabilities is None:
        return
    if clouds is None or probabilities is None:
        given, absent = ("clouds", "probabilities")[:: 1 if probabilities is None else -1]
        raise ValueError(f"{given} without {absent}: expected both, or neither")
    if np.ndim(clouds) != 1 or np.ndim(probabilities) != 2 or len(clouds) != len(probabilities):
        raise ValueError(
            f"clouds of shape {np.shape(clouds)} and probabilities of shape "
            f"{np.shape(probabilities)}: expected (m,) and (m, C)"
        )
    if test_size not in (0, len(clouds)):
        raise ValueError(f"test_size={test_size}: the predictions are of {len(clouds)} clouds")
    if len(clouds) == 0:
        return
    if np.min(clouds) < 0 or len(np.unique(clouds)) != len(clouds):
        raise ValueError("clouds: expected different indices of at least 0")
    # written so that NaN is outside too
    outside = ~((probabilities >= 0) & (probabilities <= 1 + 1e-6))
    if outside.any():
        raise ValueError(
            f"probabilities has {float(probabilities[outside][0])!r}: expected numbers from 0 to 1"
        )

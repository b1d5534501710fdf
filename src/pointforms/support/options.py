"""Options of estimators, checked against their type hints.

A hint says which values an option may have: `int | None`, `Literal["mean", "point"]`, or with a
rule beside the type, `Annotated[float, Bounds(above=0)]`. So the check of an option stands where
the option does, and none is forgotten.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

# How messages call values of a type.
_KINDS: dict[Any, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a finite number",
    str: "text",
    NoneType: "None",
    os.PathLike: "a path",
}
# No count or size comes near this; arithmetic with larger whole numbers overflows.
_LARGEST = 1 << 63
# Longest text of a value in a message.
_SHOWN = 200


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Bounds of a number, each inclusive or not; None is no bound.

    Examples
    --------
    >>> share = Bounds(at_least=0, below=1)
    >>> share.allows(0), share.allows(1), str(share)
    (True, False, 'of at least 0 and below 1')
    """

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None

    def allows(self, value: Any) -> bool:
        """Return whether a number is within the bounds."""
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        words = {
            "of at least": self.at_least,
            "above": self.above,
            "of at most": self.at_most,
            "below": self.below,
        }
        return " and ".join(f"{word} {limit}" for word, limit in words.items() if limit is not None)


@dataclass(frozen=True)
class NotEmpty:
    """The rule of a sequence that has at least one item."""

    def allows(self, value: Any) -> bool:
        """Return whether a sequence has an item."""
        return len(value) > 0

    def __str__(self) -> str:
        return "(at least one)"


#: A whole number of at least 1.
Count = Annotated[int, Bounds(at_least=1)]
#: A number above 0.
Positive = Annotated[float, Bounds(above=0)]
#: A seed, or a generator of random numbers.
RandomState = Annotated[int, Bounds(at_least=0, below=2**32)] | np.random.RandomState | None


def check_option(name: str, value: object, hint: Any) -> None:
    """Raise a ValueError unless a value is one that a type hint allows.

    A whole number is a number too, True is neither, and numbers are finite. Scalars of NumPy count
    as Python's. Sequences are lists, tuples, ranges and one-dimensional arrays.

    Parameters
    ----------
    name : str
        Name of the option.
    value : object
        What was passed.
    hint : type hint
        What is allowed, with rules in `Annotated`.

    Examples
    --------
    >>> check_option("hidden", (16, 16), Sequence[Count])
    >>> check_option("hidden", 16, Sequence[Count])
    Traceback (most recent call last):
    ValueError: hidden=16: expected a sequence, each item a whole number of at least 1
    """
    if not _allows(hint, value):
        raise ValueError(f"{name}={shown(value)}: expected {_expected(hint)}")


def check_options(estimator: Any) -> None:
    """Check every parameter of an estimator against the hint of the attribute of its name.

    Parameters
    ----------
    estimator : BaseEstimator
        An estimator of scikit-learn, whose class has type hints for its parameters. One without a
        hint is not checked.
    """
    cls: Any = type(estimator)
    hints = _hints(cls)
    for name, value in estimator.get_params(deep=False).items():
        check_option(name, value, hints.get(name, Any))


def shown(value: object) -> str:
    """Return the text of a value for a message, shortened if it is very long.

    Examples
    --------
    >>> shown("mean"), len(shown([0] * 1000))
    ("'mean'", 200)
    """
    try:
        text = repr(value)
    except Exception as error:  # a number of too many digits, or an object that is broken
        text = f"a {type(value).__name__} that cannot be shown ({error})"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


@cache
def _hints(cls: type) -> dict[str, Any]:
    for base in cls.__mro__:
        try:
            return get_type_hints(base, include_extras=True)
        except NameError:  # a class whose hints mean something only where it was defined
            continue
    return {}


def _allows(hint: Any, value: Any) -> bool:
    kind = get_origin(hint) or hint
    parts = get_args(hint)
    if isinstance(value, np.generic):
        value = value.item()
    if kind is Any:
        return True
    if kind in (Union, UnionType):
        return any(_allows(part, value) for part in parts)
    if kind is Annotated:
        return _allows(parts[0], value) and all(rule.allows(value) for rule in parts[1:])
    if kind is Literal:  # `1 == True` in Python, so the types must agree too
        return any(type(value) is type(word) and value == word for word in parts)
    if kind is int:
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        return whole and abs(int(value)) < _LARGEST
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool) and _is_finite(value)
    if kind is Sequence:
        flat = isinstance(value, np.ndarray) and value.ndim == 1
        listed = flat or isinstance(value, list | tuple | range)
        return listed and all(_allows(parts[0], item) for item in value)
    if kind is dict:
        return isinstance(value, dict) and all(_allows(parts[1], v) for v in value.values())
    return isinstance(value, kind)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the range of floats
        return False


def _expected(hint: Any) -> str:
    """Describe the values that a hint allows, for "expected ..."."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return " or ".join(_expected(part) for part in parts)
    if kind is Annotated:
        return " ".join([_expected(parts[0]), *map(str, parts[1:])])
    if kind is Literal:
        words = ", ".join(map(repr, parts))
        return words if len(parts) == 1 else f"one of {words}"
    if kind is Sequence:
        return f"a sequence, each item {_expected(parts[0])}"
    if kind is dict:
        return f"a dictionary, each value {_expected(parts[1])}"
    return _KINDS.get(kind) or f"a {kind.__name__}"

"""Checks of arguments, with errors that restate what was passed and what was expected."""

from __future__ import annotations

import math
from numbers import Integral, Real


def check_int(name: str, value: object, at_least: int, or_else: str = "") -> None:
    """Raise an error unless a value is a whole number of at least `at_least`.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : object
        What was passed.
    at_least : int
        The smallest number that is allowed.
    or_else : str, default ""
        Other values that the caller allows, for the message.

    Examples
    --------
    >>> check_int("epochs", 3, at_least=1)
    >>> check_int("epochs", 0, at_least=1)
    Traceback (most recent call last):
    ValueError: epochs=0: expected at least 1
    """
    alternative = f" or {or_else}" if or_else else ""
    if isinstance(value, bool) or not isinstance(value, Integral):
        kind = ValueError if isinstance(value, str) else TypeError
        raise kind(f"{name}={value!r}: expected a whole number{alternative}")
    if value < at_least:
        raise ValueError(f"{name}={value!r}: expected at least {at_least}{alternative}")


def check_real(name: str, value: object, or_else: str = "") -> None:
    """Raise an error unless a value is a finite number.

    Examples
    --------
    >>> check_real("alpha", float("nan"))
    Traceback (most recent call last):
    ValueError: alpha=nan: expected a finite number
    """
    alternative = f" or {or_else}" if or_else else ""
    if isinstance(value, bool) or not isinstance(value, Real):
        kind = ValueError if isinstance(value, str) else TypeError
        raise kind(f"{name}={value!r}: expected a number{alternative}")
    try:
        finite = math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        finite = False
    if not finite:
        raise ValueError(f"{name}={value!r}: expected a finite number{alternative}")


def check_positive(name: str, value: object, or_else: str = "") -> None:
    """Raise an error unless a value is a positive, finite number.

    Examples
    --------
    >>> check_positive("bandwidth", 0, or_else='"auto"')
    Traceback (most recent call last):
    ValueError: bandwidth=0: expected a positive number or "auto"
    """
    check_real(name, value, or_else)
    if not value > 0:  # type: ignore[operator]
        alternative = f" or {or_else}" if or_else else ""
        raise ValueError(f"{name}={value!r}: expected a positive number{alternative}")


def check_choice(name: str, value: object, *choices: object) -> None:
    """Raise an error unless a value is one of the choices, of the same type.

    Examples
    --------
    >>> check_choice("center", "middle", "mean", "point")
    Traceback (most recent call last):
    ValueError: center='middle': expected one of 'mean', 'point'
    """
    # `1 == True` in Python, so the types must agree too; arrays cannot be compared with a choice
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        expected = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r}: expected one of {expected}")


def is_word(value: object, *words: str) -> bool:
    """Whether a value is one of some words; unlike ==, it answers for arrays too.

    Examples
    --------
    >>> is_word("auto", "auto"), is_word([1, 2], "auto")
    (True, False)
    """
    return isinstance(value, str) and value in words

"""Error messages for a misspelt name: the nearest known one, or all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

# Names that a message lists at most.
_LISTED = 12


def suggest(name: object, known: Iterable[object], intro: str = "expected one of") -> str:
    """Return the end of an error message about a name that is not known.

    Upper and lower case do not count when names are compared.

    Parameters
    ----------
    name : object
        What was written, text or not.
    known : iterable
        What could have been written.
    intro : str, default "expected one of"
        What precedes a list of them.

    Returns
    -------
    str
        The nearest known name, or the first of them if none is near.

    Examples
    --------
    >>> suggest("neighbours", ["neighbors", "rank"])
    "did you mean 'neighbors'?"
    >>> suggest("colour", ["neighbors", "rank"])
    "expected one of 'neighbors', 'rank'"
    """
    names = [str(one) for one in known]
    if not names:
        return "there are none"
    lowered = [one.lower() for one in names]
    close = get_close_matches(str(name).lower(), lowered, n=1)
    if close:
        return f"did you mean {names[lowered.index(close[0])]!r}?"
    listed = ", ".join(map(repr, names[:_LISTED]))
    return f"{intro} {listed}" + (f", … ({len(names)})" if len(names) > _LISTED else "")


def suggests_parameters(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorate a function so that a misspelt keyword raises an error with the nearest parameter.

    Constructors can be decorated too.

    Examples
    --------
    >>> @suggests_parameters
    ... def draw(color: str = "black") -> None: ...
    >>> draw(colour="red")
    Traceback (most recent call last):
    TypeError: draw() got an unexpected keyword argument 'colour': did you mean 'color'?
    """
    signature = inspect.signature(function).parameters
    positional = sum(one.kind is not one.KEYWORD_ONLY for one in signature.values())
    constructor = function.__name__ == "__init__"

    @wraps(function)
    def checked(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        called = type(args[0]).__name__ if constructor and args else function.__name__
        if constructor and positional == 1 < len(args):
            raise TypeError(f"{called}() takes keyword arguments only, got {args[1]!r}")
        for name in kwargs:
            if name not in signature:
                known = [one for one in signature if one != "self"]
                raise TypeError(
                    f"{called}() got an unexpected keyword argument {name!r}: "
                    f"{suggest(name, known)}"
                )
        return function(*args, **kwargs)

    return checked

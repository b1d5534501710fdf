"""Suggestions for a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name: the closest known one, or else all of them.

    Parameters
    ----------
    word : str
        The name that was given.
    known : iterable of str
        The names that exist.

    Examples
    --------
    >>> nearest("color", ["colour", "width"])
    "did you mean 'colour'?"
    >>> nearest("height", ["colour", "x"])
    'there are colour, x'
    """
    names = list(known)
    close = difflib.get_close_matches(word.lower(), names, 1, 0.5)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}"

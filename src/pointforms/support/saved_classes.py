"""Which classes `pointforms.load` may make from a file, by their names."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

# Classes, or where to find them as "module:attribute".
_places: dict[str, type | str] = {}


def register_class(name: str, place: type | str) -> None:
    """Let `pointforms.load` make a class.

    Parameters
    ----------
    name : str
        How files name it.
    place : type or str
        The class, or "module:attribute", which is imported when the first such file is read.

    Examples
    --------
    >>> register_class("Fraction", "fractions:Fraction")
    >>> registered_class("Fraction")(1, 2)
    Fraction(1, 2)
    >>> del _places["Fraction"]
    """
    _places[name] = place


def registered_class(name: object) -> Any:
    """Return a class by the name that a file gives it, or raise an error: no other is imported."""
    place = _places.get(name) if isinstance(name, str) else None
    if place is None:
        raise ValueError(f"it holds a {name!r}: expected one of {', '.join(sorted(_places))}")
    return resolve_name(place) if isinstance(place, str) else place

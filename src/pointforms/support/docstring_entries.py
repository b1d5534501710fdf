"""Entries of a docstring that other docstrings repeat, written once."""

from __future__ import annotations

import inspect
import re

_ENTRY = re.compile(r"^(\w+) : .*(?:\n    .*)*", re.MULTILINE)
_TITLE = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def insert_entries(docstring: str, line: str, source: str | None, section: str) -> str:
    """Replace a line of a docstring by the entries of a section of another one.

    Entries that the docstring has itself are left out.

    Parameters
    ----------
    docstring : str
        The docstring.
    line : str
        What is replaced, a name in brackets.
    source : str or None
        The docstring with the entries; None under `python -OO`.
    section : str
        The title of the section that has them.

    Examples
    --------
    >>> source = "Cut.\\n\\nParameters\\n----------\\nx : int\\n    Width.\\ny : int\\n    Height."
    >>> print(insert_entries("y : float\\n    Depth.\\n[sizes]", "[sizes]", source, "Parameters"))
    y : float
        Depth.
    x : int
        Width.
    """
    text = inspect.cleandoc(docstring)
    if line not in text:
        return text
    parts = _TITLE.split(inspect.cleandoc(source or ""))
    entries = dict(zip(parts[1::2], parts[2::2], strict=True)).get(section, "")
    own = {entry[1] for entry in _ENTRY.finditer(text)}
    return text.replace(line, "\n".join(e[0] for e in _ENTRY.finditer(entries) if e[1] not in own))

"""An extension of the reference's builder that reads docstrings as ours are written.

- The lines "[options of GramSettings]" and "[options of PointFormEstimator]" become the entries of
  those options.
- Sphinx roles, :func:`x`, become plain code, and points[i][p] is not a link.
- Of parameters that share an entry, "alpha, beta : float", each has its own default.
- In "hidden : widths of the layers", without more lines, what follows the colon is the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

from pointforms.estimators.point_form_estimator import insert_estimator_options
from pointforms.geometry.settings import insert_options

_ROLE = re.compile(r":(?:func|class|meth|mod|attr):(?=`)")
_INDEXED_TWICE = re.compile(r"(?<=\w)(\[\w+\])\[(?=\w+\])")


class Docstrings(griffe.Extension):
    """Corrects what was parsed, once a package is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        for one in _documented(pkg):
            assert one.docstring is not None
            text = _ROLE.sub("", insert_options(insert_estimator_options(one.docstring.value)))
            one.docstring.value = _INDEXED_TWICE.sub(r"\1\[", text)
            for section in one.docstring.parsed:
                if section.kind is griffe.DocstringSectionKind.parameters:
                    _correct(section.value, getattr(one, "parameters", None))
                elif section.kind is griffe.DocstringSectionKind.attributes:
                    for entry in section.value:
                        _text_first(entry)


def _documented(module: griffe.Object) -> Iterator[griffe.Object]:
    """Everything with a docstring, in a package of ours."""
    for member in module.members.values():
        if isinstance(member, griffe.Alias):
            continue
        if member.docstring is not None:
            yield member
        yield from _documented(member)


def _correct(entries: list[Any], signature: Any) -> None:
    shared = None
    for entry in entries:
        own = signature[entry.name] if signature is not None and entry.name in signature else None
        if own is not None:
            # the first of a group lends its annotation to the others where the text has none
            if entry.annotation is own.annotation:
                shared = own.annotation
            elif shared is not None and entry.annotation is shared:
                entry.annotation = own.annotation
            entry.value = own.default
        _text_first(entry)


def _text_first(entry: Any) -> None:
    if not entry.description and entry.annotation is not None:
        entry.description, entry.annotation = str(entry.annotation), None

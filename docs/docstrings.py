"""Griffe extension that adapts our docstrings for the reference pages.

- Lines such as "[options of GramSettings]" become the entries of those options.
- Sphinx roles such as :func:`x` become plain code, and points[i][p] does not become a link.
- Types are shown as they are written; Griffe would print them as Python expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

from pointforms.estimators.point_form_estimator import insert_estimator_attributes
from pointforms.estimators.point_form_options import insert_estimator_options
from pointforms.geometry.settings import insert_options
from pointforms.models.portfolio.portfolio import insert_portfolio_options
from pointforms.scverse.choices import insert_choice

_INSERTS = (
    insert_portfolio_options,
    insert_estimator_options,
    insert_estimator_attributes,
    insert_choice,
    insert_options,
)
_ROLE = re.compile(r":(?:func|class|meth|mod|attr):(?=`)")
_INDEXED_TWICE = re.compile(r"(?<=\w)(\[\w+\])\[(?=\w+\])")
_ENTRY = re.compile(r"^(?P<name>\*{0,2}\w+) : (?P<type>.+?)(?:, (?:default .+|optional))?$", re.M)
_WITH_TYPES = (
    griffe.DocstringSectionKind.parameters,
    griffe.DocstringSectionKind.other_parameters,
    griffe.DocstringSectionKind.attributes,
    griffe.DocstringSectionKind.returns,
)


class Docstrings(griffe.Extension):
    """Rewrite every docstring once its package is loaded, and correct what was parsed."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        for documented in _documented(pkg):
            docstring = documented.docstring
            assert docstring is not None
            text = docstring.value
            for insert in _INSERTS:
                text = insert(text)
            text = _ROLE.sub("", text)
            docstring.value = _INDEXED_TWICE.sub(r"\1\[", text)
            types = {entry["name"]: entry["type"] for entry in _ENTRY.finditer(docstring.value)}
            for section in docstring.parsed:
                if section.kind in _WITH_TYPES:
                    for entry in section.value:
                        entry.annotation = types.get(entry.name, entry.annotation)


def _documented(module: griffe.Object) -> Iterator[griffe.Object]:
    """Yield everything that has a docstring in a package of ours."""
    for member in module.members.values():
        if isinstance(member, griffe.Alias):
            continue
        if member.docstring is not None:
            yield member
        yield from _documented(member)

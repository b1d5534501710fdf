"""MkDocs hook that typesets equations: LaTeX between dollars becomes MathML when the site is built.

Browsers lay out MathML themselves, so pages need no script and no network, and their equations can
be selected, copied and read aloud.
"""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

# what pymdownx.arithmatex with `generic: true` leaves of $...$ and $$...$$
_EQUATION = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
# how many parts these elements have
_PARTS = {"mfrac": 2, "mover": 2, "msub": 2, "msup": 2, "munder": 2, "msubsup": 3, "munderover": 3}


def on_page_content(text: str, page: Any, **_: Any) -> str:
    """Replace the equations of a page."""
    return _EQUATION.sub(lambda match: _typeset(match, page.file.src_uri), text)


def _typeset(match: re.Match[str], page: str) -> str:
    latex = html.unescape(match["latex"]).strip()
    display = "block" if match["tag"] == "div" else "inline"
    try:
        mathml = convert(latex, display=display)
    except Exception as error:
        raise PluginError(f"{page}: the equation {latex!r} cannot be typeset: {error!r}") from error
    wrong = [element.tag for element in ElementTree.fromstring(mathml).iter() if _misses(element)]
    if "\\" in mathml or wrong:  # commands that the converter does not know are left as they are
        raise PluginError(f"{page}: the equation {latex!r} cannot be typeset; try more braces")
    return f'<div class="equation">{mathml}</div>' if display == "block" else mathml


def _misses(element: ElementTree.Element) -> bool:
    """Return whether an element has too few parts, or too many, so that browsers refuse it."""
    return len(element) != _PARTS.get(element.tag.rpartition("}")[2], len(element))

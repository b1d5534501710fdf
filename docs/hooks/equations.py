"""MkDocs hook that typesets equations: LaTeX between dollars becomes MathML when the site is built.

Browsers lay out MathML themselves, so pages need no script and no network, and their equations can
be selected, copied and read aloud.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

# what pymdownx.arithmatex with `generic: true` leaves of $...$ and $$...$$
_EQUATION = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)


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
    if "\\" in mathml:  # a command that the converter does not know is left as it is
        raise PluginError(f"{page}: the equation {latex!r} has a command that cannot be typeset")
    return f'<div class="equation">{mathml}</div>' if display == "block" else mathml

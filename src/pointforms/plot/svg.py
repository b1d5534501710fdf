"""Figures as SVG inside a web page: colours that follow its style, text as text, tooltips."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pointforms.plot import style
from pointforms.support.extras import need
from pointforms.support.formatting import printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

_DPI = 150  # of the parts that are images
_PIXELS = 112  # per inch: 8 point type becomes 12 pixels
_TOOLTIPS = "_pointforms_tooltips"
# A page may define these variables; without them the colours are those of a printed figure.
_VARIABLES = {
    style.BLACK: "currentColor",
    style.INK: "currentColor",
    "#ffffff": "var(--page, #ffffff)",
    style.PALE: "var(--line, #dddddd)",
    **{code: f"var(--c{i}, {code.lower()})" for i, code in enumerate(style.COLOURS[:6])},
}
_BY_CODE = {code.lower(): variable for code, variable in _VARIABLES.items()}


def add_tooltips(artist: Artist, texts: Sequence[str]) -> None:
    """Give the marks of an artist, in their order, a text that pointing at them shows in SVG."""
    lines = [map(printable, text.splitlines()) for text in texts]
    setattr(artist, _TOOLTIPS, ["\n".join(parts) for parts in lines])


@style.styled
def to_svg(figure: Figure, alt: str, prefix: str) -> str:
    """Return a figure as an SVG element for an HTML page.

    Background and black are left to the page (`transparent` and `currentColor`), the colours of
    :mod:`pointforms.plot.style` are CSS variables with defaults, and text stays text.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Any figure of this package.
    alt : str
        What the figure shows, for readers who do not see it.
    prefix : str
        Start of the ids in the element; another one for every figure of a page.

    Returns
    -------
    str
        One `<svg>` element.

    Examples
    --------
    >>> from pointforms import plot
    >>> figure = plot.forest(["a", "b"], [0.7, 0.9], [0.6, 0.8], [0.8, 1.0])
    >>> text = plot.to_svg(figure, "Two models", "figure-1")
    >>> text[:48]
    '<svg viewBox="0 0 374.4 79.2" role="img" aria-la'
    """
    matplotlib = need("matplotlib", "plot")
    tooltips: dict[str, list[str]] = {}
    for artist in figure.findobj(lambda one: hasattr(one, _TOOLTIPS)):
        name = f"tooltips-{len(tooltips)}"
        artist.set_gid(name)
        tooltips[name] = getattr(artist, _TOOLTIPS)
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": prefix}):
        figure.savefig(buffer, format="svg", transparent=True, dpi=_DPI, metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())
    _strip_namespaces(root)
    for group in root.iter("g"):
        texts = tooltips.get(group.get("id", ""), [])
        marks = list(_marks(group))
        if len(marks) != len(texts):  # some have no place and are not drawn, or all are an image
            continue
        for mark, text in zip(marks, texts, strict=True):
            ElementTree.SubElement(mark, "title").text = text
    for element in list(root):
        if element.tag == "metadata" or element.find("style") is not None:
            root.remove(element)
    for element in root.iter():
        _simplify(element)
    for element in root.iter():
        _share_style(element)
    _rename_ids(root, prefix)
    width, _ = figure.get_size_inches()
    attributes = {
        "viewBox": root.get("viewBox", ""),
        "role": "img",
        "aria-label": printable(alt),
        # narrower frames scroll before text becomes too small to read
        "style": f"width: {width * _PIXELS:.0f}px; min-width: {0.7 * width * _PIXELS:.0f}px",
    }
    root.attrib.clear()
    root.attrib.update(attributes)
    return ElementTree.tostring(root, encoding="unicode")


def _strip_namespaces(root: Element) -> None:
    """HTML knows SVG elements by their plain names."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name in list(element.attrib):
            if "}" in name:
                element.set(name.rpartition("}")[2], element.attrib.pop(name))


def _marks(element: Element) -> Iterator[Element]:
    """Shapes of a group in the order in which they are drawn."""
    for child in element:
        if child.tag in ("use", "path"):
            yield child
        elif child.tag != "defs":
            yield from _marks(child)


def _simplify(element: Element) -> None:
    """Put colours of the page in, and keep two decimals of coordinates."""
    for name in ("d", "x", "y", "points"):
        if name in element.attrib:
            element.set(name, re.sub(r"(\.\d\d)\d+", r"\1", element.attrib[name]))
    if "style" in element.attrib:
        coloured = re.sub(
            r"#[0-9a-f]{6}", lambda code: _BY_CODE.get(code[0], code[0]), element.attrib["style"]
        )
        element.set("style", coloured)
    if element.tag not in ("text", "tspan", "title", "a"):
        element.text = None
    element.tail = None


def _share_style(group: Element) -> None:
    """Marks of one style take it from their group, which keeps large figures small."""
    styles = {mark.get("style") for mark in group}
    if len(group) > 2 and len(styles) == 1 and {mark.tag for mark in group} == {"use"}:
        group.set("style", styles.pop() or "")
        for mark in group:
            mark.attrib.pop("style", None)


def _rename_ids(root: Element, prefix: str) -> None:
    """Keep only ids that are referred to, and start them with the prefix."""
    used: dict[str, str] = {}

    def renamed(reference: re.Match[str]) -> str:
        return reference[1] + used.setdefault(reference[2], f"{prefix}-{len(used)}")

    for element in root.iter():
        for name in ("clip-path", "href", "fill", "style"):
            if name in element.attrib:
                value = re.sub(r"(url\(#|^#)([^)]+)", renamed, element.attrib[name])
                element.set(name, value)
    for element in root.iter():
        own = element.attrib.pop("id", "")
        if own in used:
            element.set("id", used[own])

"""Figures as SVG elements of a page."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
from matplotlib.figure import Figure

from pointforms import plot
from pointforms.plot import style
from pointforms.plot.svg import add_tooltips

HOSTILE = '"><script>alert(1)</script>'


def parsed(figure, alt="A figure", prefix="f1"):
    return ElementTree.fromstring(plot.to_svg(figure, alt, prefix))


def ids(root):
    return [element.get("id") for element in root.iter() if element.get("id")]


def test_ids_start_with_the_prefix_and_every_reference_has_its_target(rng):
    figure = plot.comparison_pca(rng.normal(size=(20, 2, 2)), np.arange(20) % 2)
    for prefix in ("f1", "f2"):
        root = parsed(figure, prefix=prefix)
        names = ids(root)
        assert names
        assert len(names) == len(set(names))
        assert all(name.startswith(f"{prefix}-") for name in names)
        for element in root.iter():
            href = element.get("href")
            if href and not href.startswith("data:"):
                assert href[1:] in names
            clip = element.get("clip-path")
            if clip:
                assert clip.removeprefix("url(#").removesuffix(")") in names


def test_text_stays_text_and_names_cannot_become_markup():
    figure = plot.forest([HOSTILE, "$x$"], [0.7, 0.8], [0.6, 0.7], [0.8, 0.9])
    text = plot.to_svg(figure, HOSTILE, "f1")
    root = ElementTree.fromstring(text)
    assert "<script" not in text
    assert root.get("aria-label") == HOSTILE
    assert root.get("role") == "img"
    shown = [element.text for element in root.iter("text")]
    assert HOSTILE in shown
    assert "$x$" in shown


def test_colours_follow_the_page_and_the_background_is_its_own():
    figure = Figure()
    axes = figure.subplots()
    axes.scatter(range(30), range(30), color=style.BLUE, alpha=0.5)
    axes.plot([0, 1], color=style.INK)
    text = plot.to_svg(figure, "x", "f1")
    assert "var(--c0, #0072b2)" in text
    assert "currentColor" in text
    for code in ("#000000", style.INK.lower(), "fill: #0072b2", "fill: #ffffff"):
        assert code not in text


def test_every_mark_has_its_own_tooltip(rng):
    names = [f"cloud {i}" for i in range(60)]
    matrices, labels = rng.normal(size=(60, 2, 2)), np.arange(60) % 3
    root = parsed(plot.comparison_pca(matrices, labels, tooltips=names))
    titles = [element.text for element in root.iter("title")]
    assert sorted(titles) == sorted(names)
    figure = Figure()
    (marks,) = figure.subplots().plot([1, 2, 3], [3, 1, 2], "o")
    add_tooltips(marks, ["left", "middle", "right"])
    shown = [m for m in parsed(figure).iter("use") if m.find("title") is not None]
    order = sorted(shown, key=lambda mark: float(mark.get("x")))
    assert [mark.find("title").text for mark in order] == ["left", "middle", "right"]


def test_the_same_figure_gives_the_same_text(rng):
    matrices = rng.normal(size=(20, 2, 2))
    one, two = (plot.to_svg(plot.comparison_pca(matrices), "x", "f1") for _ in range(2))
    assert one == two

"""The page as a file."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from tests.helpers.samples import HOSTILE, HOSTILE_MODEL, comparison, hostile, many, models_section

from pointforms.bench.page import write_report
from pointforms.bench.page.document import embedded
from pointforms.bench.run_history import Run
from pointforms.support.statistics import Estimate

RUN = Run(1, "a & b", "local", 2, "secret-host", 7, "Some CPU, 2 cores", "0.1.0", 0.0, 90.0, 1)


class Elements(HTMLParser):
    """Tags with their attributes, text outside scripts, and the scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.scripts, self._script = [], [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._script = tag == "script"
        if self._script:
            self.scripts.append((dict(attributes), ""))

    def handle_endtag(self, tag):
        self._script = False

    def handle_data(self, data):
        if self._script:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data
        else:
            self.text.append(data)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(
        comparison(), [], [RUN], path, [models_section()], title="One & two", notes=["A <note>."],
        published=lambda task, title: Estimate(0.958, 0.010) if title == "PointNet++" else None,
    )  # fmt: skip
    return path.read_text("utf-8")


@pytest.fixture(scope="module")
def elements(page):
    return Elements(page)


def test_nothing_is_loaded_from_anywhere(elements):
    for tag, attributes in elements.tags:
        assert tag not in ("iframe", "object", "embed", "base")
        for name in ("src", "href"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:,", "data:image/png;base64,")), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)


def test_only_the_scripts_of_the_page_may_run(elements):
    policy = next(a["content"] for tag, a in elements.tags if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    runnable = [
        text for attributes, text in elements.scripts if "json" not in attributes.get("type", "")
    ]
    assert len(runnable) == 2
    for text in runnable:
        found = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{found}'" in policy


def test_the_page_says_what_was_compared(elements):
    text = re.sub(r"\s+", " ", " ".join(elements.text))
    for shown in (
        "One & two", "A <note>.", "All data on this page are simulated.", "NPF better",
        "baseline better", "PointNet++ beats NPF (selected)", "OSError: no <disk>",
        "0.958 ± 0.010", "Some CPU, 2 cores", "npf sweep again.toml", "weight_decay = 0.3",
        "Learned 1-forms", "Split over basis forms", "chance reaches 0.200 (99 permutations).",
    ):  # fmt: skip
        assert shown.replace(" ± ", " ± ") in text, shown
    assert "secret-host" not in text


def test_every_link_of_the_page_has_its_place(elements):
    places = [attributes["id"] for _, attributes in elements.tags if "id" in attributes]
    assert len(places) == len(set(places))
    links = [a["href"][1:] for tag, a in elements.tags if tag == "a"]
    assert set(links) <= set(places)
    assert {"content", "summary", "results", "fits", "models", "costs", "reproduce"} <= set(links)


def test_every_figure_is_labelled(elements):
    figures = [attributes for tag, attributes in elements.tags if tag == "svg"]
    assert len(figures) == 2 * 2 + 2 + 5  # results, fits, and those of a model
    assert all(a["aria-label"] and a["role"] == "img" for a in figures)


def test_colours_of_figures_are_variables_of_the_page(page):
    used = set(re.findall(r"var\((--\w+),", page))
    assert used
    for theme in (":root {", ':root[data-theme="dark"] {'):
        block = page[page.index(theme) :]
        defined = set(re.findall(r"(--[\w-]+):", block[: block.index("}")]))
        assert used <= defined, used - defined


def test_hostile_names_stay_text(tmp_path):
    found = Elements(
        write_report(
            hostile(),
            [],
            [],
            tmp_path / "x.html",
            [models_section(HOSTILE, HOSTILE_MODEL)],
            title=HOSTILE,
        ).read_text("utf-8")
    )
    assert not [tag for tag, _ in found.tags if tag == "img"]
    assert len(found.scripts) == 3
    assert HOSTILE in "".join(found.text)
    assert HOSTILE_MODEL in "".join(found.text)


def test_embedded_data_cannot_end_their_element():
    text = "</script><!--&\u2028\u2029"
    found = embedded({text: [text, 1.5, None]})
    assert not set("<>&\u2028\u2029") & set(found)
    assert json.loads(found) == {text: [text, 1.5, None]}
    with pytest.raises(ValueError):
        embedded(float("nan"))


def test_a_page_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("before")
    with pytest.raises(ValueError, match="no fits"):
        write_report([], [], [], target)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(comparison(), [], [], target)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert target.read_text() == "before"


def test_ten_thousand_fits_stay_small(tmp_path):
    path = write_report(many(), [], [], tmp_path / "many.html")
    assert path.stat().st_size < 15_000_000

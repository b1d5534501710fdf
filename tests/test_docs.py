"""The documentation builds without warnings, its links work, and its numbers are those of fits."""

from __future__ import annotations

import csv
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
import typer
import yaml
from docs import readme_results
from docs.hooks.cells import split
from docs.hooks.equations import on_page_content
from docs.readme_results import with_results
from docs.refresh_results import STUDIES, refreshed, tables_of
from mkdocs.exceptions import PluginError
from tests.helpers.pages import CONTRIBUTING, DOCS, PAGES, README, ROOT, TUTORIALS, prose
from tests.helpers.public_names import public_objects

from pointforms.bench import read_csv, write_csv
from pointforms.cli.app import app

SUMMARIES = ("random-forest", "logistic-regression", "svm")


class Links(HTMLParser):
    """Links, loaded files and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in ("img", "script") and "src" in values:
            self.loads.append(values["src"])
        if tag == "link" and values.get("rel") in ("stylesheet", "icon", "preconnect"):
            self.loads.append(values["href"])


@pytest.fixture(scope="module")  # tests/test_site.py builds it with the results of the tutorials
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    pytest.importorskip("mkdocstrings_handlers.python")
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)],
        cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "RUN_TUTORIALS": "false"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "WARNING" not in result.stderr
    return out


def nav_pages(entries: list) -> list[str]:
    pages = []
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            pages += nav_pages(value) if isinstance(value, list) else [value]
    return pages


def test_the_menu_lists_every_page_once():
    listed = nav_pages(yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), yaml.BaseLoader)["nav"])
    assert len(listed) == len(set(listed))
    made = {tutorial.with_suffix(".md") for tutorial in TUTORIALS}  # when the site is built
    assert len(made) >= 6
    assert {DOCS / page for page in listed} >= {*PAGES, *made, *(DOCS / "results").glob("*.md")}
    assert all((DOCS / page).is_file() for page in listed if DOCS / page not in made)


def test_tutorials_have_a_title_and_say_what_is_simulated():
    for tutorial in TUTORIALS:
        text = prose(tutorial)
        assert text.startswith("# "), tutorial.name
        assert text.count("\n# ") == 0, tutorial.name
        simulates = "def simulate(" in tutorial.read_text("utf-8")
        assert not simulates or "**simulated**" in text, tutorial.name


def test_a_script_is_divided_into_prose_and_code():
    cells = split("import this\n# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nx = 1\n# why\n")
    assert [(cell.prose, cell.text) for cell in cells] == [
        (True, "# Title\n\nText."),
        (False, "x = 1\n# why"),
    ]


def typeset(latex: str) -> str:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="page.md"))
    return on_page_content(f'<span class="arithmatex">\\({latex}\\)</span>', page=page)


def test_equations_become_mathml():
    assert "<msub><mi>C</mi>" in typeset("C_{ab}")
    assert "<mi>a</mi><mo>&#x0003C;</mo><mi>b</mi>" in typeset("a &lt; b")


@pytest.mark.parametrize("latex", [r"\unknown{x}", r"\left( x", r"\binom{D}{k}^2"])
def test_an_equation_that_cannot_be_typeset_stops_the_build(latex):
    with pytest.raises(PluginError, match=r"page\.md: the equation"):
        typeset(latex)


def test_equations_of_the_site_are_typeset(site):
    page = (site / "concepts.html").read_text("utf-8")
    assert page.count('<math xmlns="http://www.w3.org/1998/Math/MathML" display="block"') >= 4
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        assert "arithmatex" not in text, path.name
        assert "$$" not in text, path.name


def test_every_command_and_option_is_listed(site):
    page = (site / "reference" / "commands.html").read_text("utf-8")
    left, seen = [("npf", typer.main.get_command(app))], 0
    while left:
        name, command = left.pop()
        heading = re.search(rf"<h[2-4] id=\"[^\"]*\"><code>{re.escape(name)}</code>", page)
        assert heading, name
        section = page[heading.end() :].partition("<h")[0]
        left += [(f"{name} {key}", sub) for key, sub in getattr(command, "commands", {}).items()]
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                seen += 1
                assert parameter.opts[0] in section, f"{name} {parameter.opts[0]}"
    assert seen > 60


def test_links_of_the_site_work(site):
    pages = {path: Links(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > len(PAGES)
    for path, page in pages.items():
        if path.name == "404.html":  # its links are from the root of a server
            continue
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https"):
                assert link not in page.loads, f"{path.name} loads {link}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in pages:
                anchors = pages[target].anchors | {"", "__skip"}
                assert unquote(parts.fragment) in anchors, f"{path.name}: {link}"


def test_the_site_needs_no_network(site):
    styles = "".join(p.read_text("utf-8") for p in site.rglob("*.css"))
    assert not re.search(r"(@import|url\()\s*[\"']?https?:", styles)


def test_the_reference_shows_types_and_defaults(site):
    page = (site / "reference" / "index.html").read_text("utf-8")
    shown = re.findall(
        r"<b><code>(\w+)</code></b>\s*\(<code>.*?</code>, default:\s*<code>(.*?)</code>", page, re.S
    )
    defaults = {name: re.sub("<[^>]*>", "", value) for name, value in shown}
    assert defaults["epochs"] == "60"
    assert defaults["weight_decay"] == "1.0"
    assert defaults["beta"] == "-0.5"
    assert ":func:" not in page
    assert "[options of" not in page
    # a function that shares the name of its module must not be shown as that module
    pages = (site / "reference").glob("*.html")
    with_modules = {p.name for p in pages if "doc-symbol-module" in p.read_text("utf-8")}
    assert with_modules == {"bench.html", "models.html"}  # the theory, and the readouts


def test_the_reference_has_every_public_name():
    text = "".join(p.read_text("utf-8") for p in (DOCS / "reference").glob("*.md"))
    listed = set()
    for path in re.findall(r"^::: ([\w.]+)", text, re.MULTILINE):
        value = pkgutil.resolve_name(path)
        listed.add(id(value))
        listed |= {id(v) for v in vars(value).values()} if inspect.ismodule(value) else set()
    missing = [name for name, value in public_objects().items() if id(value) not in listed]
    assert not missing, f"docs/reference/ does not list {', '.join(missing)}"


def test_pictures_are_small_and_all_shown():
    text = "".join(p.read_text("utf-8") for p in [*PAGES, README])
    for picture in (DOCS / "images").iterdir():
        assert picture.stat().st_size <= 200_000, picture.name
        assert f"images/{picture.name}" in text, picture.name


def test_start_agrees_with_the_readme():
    readme, start = README.read_text("utf-8"), (DOCS / "index.md").read_text("utf-8")
    for text in (readme, start):
        assert "pip install -c constraints.txt ." in text
        assert {"demo", "test"} <= set(re.findall(r"^make (\w+)", text, re.MULTILINE))


def test_the_readme_is_short():
    assert len(README.read_text("utf-8").splitlines()) <= 160


@pytest.mark.parametrize("page", [README, CONTRIBUTING], ids=lambda p: p.stem)
def test_links_outside_the_site_work(page):
    links = re.findall(r"\]\(([^)#]+)", page.read_text("utf-8"))
    assert links
    assert all((ROOT / link).is_file() for link in links)


def test_results_of_the_readme_are_computed_from_fits():
    """Every number and every claim of its section "Results"."""
    readme = README.read_text("utf-8")
    assert with_results(readme) == readme, "run `python -m docs.refresh_results`"


def test_claims_of_the_readme_follow_the_fits(monkeypatch, tmp_path):
    """If our fits were bad, the README would say so."""
    for name in ("prediction", "equal-budget", "real", "synthetic-primary", "pdo-primary"):
        ours = "cloud-classifier" if name == "prediction" else "npf"
        records = read_csv(DOCS / "results" / f"{name}-fits.csv")
        worse = [
            replace(one, auroc=0.5 + 0.001 * one.fold) if one.row.model.startswith(ours) else one
            for one in records
        ]
        write_csv(worse, tmp_path / f"{name}-fits.csv")
    monkeypatch.setattr(readme_results, "RESULTS", tmp_path)
    section = readme_results.results_section()
    assert "None of the three" not in section
    assert " ↑ |" in section
    assert "behind in none" not in section
    assert "Hodge on circles, lines" in section  # as far as the paper's primary sweep has been run
    assert not re.search(r"\b1st of", section)


# The first words of a line of the table on the page "Which estimator", and the task they stand for.
MEASURED_TASKS = {"kidney, eGFR": "kidney-2.parquet", "kidney, three": "kidney-3.parquet"}


def test_measured_means_are_those_of_the_fits():
    """The table on the page "Which estimator" has the mean AUROC over all fits of a task."""
    fits: dict[tuple[str, str], list[float]] = {}
    for record in read_csv(DOCS / "results" / "prediction-fits.csv"):
        if record.row.model in ("cloud-classifier", *SUMMARIES):
            fits.setdefault((record.row.task, record.row.model), []).append(record.auroc)
    page = (DOCS / "estimators.md").read_text("utf-8")
    lines = [line.split(" | ") for line in re.findall(r"^\| (.+\d\.\d{3}) \|$", page, re.M)]
    assert len(lines) == 12
    for first, _, *cells in lines:
        (task,) = [v for k, v in MEASURED_TASKS.items() if first.startswith(k)] or [first]
        for model, cell in zip(("cloud-classifier", *SUMMARIES), cells, strict=True):
            assert len(fits[task, model]) == 15
            assert f"{np.mean(fits[task, model]):.3f}" == cell, f"{task}, {model}"


def test_planted_signals_are_those_of_the_sets():
    """Every line of the table on the page "Explaining a model", and the sentence about noise."""
    with (DOCS / "results" / "planted-sets.csv").open(encoding="utf-8") as file:
        sets = list(csv.DictReader(file))
    page = (DOCS / "explaining.md").read_text("utf-8")
    lines = re.findall(r"^\| (\w+).* \| (5|20) \| (.+ of 20 .+) \|$", page, re.M)
    assert len(lines) == 8
    for signal, features, rest in lines:
        some = [one for one in sets if (one["signal"], one["features"]) == (signal, features)]
        assert len(some) == 20
        auroc = np.mean([float(one["auroc"]) for one in some])
        first, found = (sum(one[k] == "True" for one in some) for k in ("first", "found"))
        false = sum(bool(one["false"]) for one in some)
        assert rest == f"{auroc:.3f} | {first} of 20 | {found} | {false}"
    noise = [bool(one["false"]) for one in sets if one["signal"] == "noise"]
    assert f"{sum(noise)} of {len(noise)} sets have a finding" in page


@pytest.mark.parametrize("study", STUDIES)
def test_results_pages_are_computed_from_their_fits(study):
    page = (DOCS / "results" / f"{study}.md").read_text("utf-8")
    tables = tables_of(study)
    assert tables
    for table in tables:
        message = f"{study}, {table.title}: run `python -m docs.refresh_results`"
        assert table.markdown() in page, message
    assert refreshed(page, tables) == page

"""`npf report`."""

from __future__ import annotations

import sqlite3

import pytest
from tests.helpers.samples import comparison
from typer.testing import CliRunner

from pointforms.bench.fitting import fit_unit, prepare
from pointforms.bench.page.serving import PageServer
from pointforms.bench.records import Row, Unit
from pointforms.bench.store import Store
from pointforms.cli import report as command
from pointforms.cli.app import app

SMALL = {"epochs": 2, "forms": 3}


def npf(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def trained():
    """Fits of a small task, as a sweep stores them."""
    rows = [
        Row("circles-vs-lines", model, SMALL, clouds=40, points=24)
        for model in ("npf-tri-1", "npf-tri-2")
    ]
    units = [Unit(row, ((0, 0), (0, 1), (1, 0), (1, 1))) for row in rows]
    return [record for unit in units for record in fit_unit(unit, prepare(unit))]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Store("results.db") as there:
        there.finish(None, comparison())
    return tmp_path / "results.db"


def test_a_page_is_written(store):
    page = store.parent / "new" / "folder" / "page.html"
    result = npf("report", store, "--out", page, "--no-explain", "--no-theory")
    assert result.exit_code == 0, result.output
    assert str(page) in result.stdout
    text = page.read_text("utf-8")
    assert "PointNet++ beats NPF (selected)" in text
    assert 'id="models"' not in text
    assert 'id="theory"' not in text


def test_a_page_about_another_reference(store):
    result = npf("report", store, "--no-explain", "--no-theory", "--reference", "mlp")
    assert result.exit_code == 0, result.output
    text = store.with_name("report.html").read_text("utf-8")
    assert "NPF-Tri k=1 beats MLP" in text
    assert "difference to MLP" in text
    assert "beats NPF (selected)" not in text
    assert "the best baseline is picked" not in text


def test_rows_without_a_fit_and_a_manifest_are_shown(store):
    store.with_name("mine.toml").write_text(
        '# why\n[[sweep]]\ntasks = ["colocated"]\nmodels = ["svm"]\n'
    )
    arguments = ("report", store, "--no-explain", "--no-theory", "--manifest", "mine.toml")
    result = npf(*arguments, "--title", "Mine")
    assert result.exit_code == 0, result.output
    text = store.with_name("report.html").read_text("utf-8")
    for shown in ("# why", "SVM RBF", "<title>Mine</title>"):
        assert shown in text


def test_views_are_on_the_page(tmp_path, monkeypatch, trained):
    monkeypatch.chdir(tmp_path)
    with Store("results.db") as there:
        there.finish(None, trained)
    result = npf("report", "results.db", "--explain", "circles-vs-lines", "--no-theory")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "fitted again when this page was made" in text
    assert "Clouds by their comparison matrices" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.db",), "no store 'none.db'"),
        (("foreign.db",), "not a store of this version"),
        (("text.db",), "is not a store"),
        (("empty.db",), "no fits in 'empty.db'"),
        (("empty.db", "--out", "none/page.html"), "no fits in 'empty.db'"),
        (("results.db", "--out", "."), "is a folder"),
        (("results.db", "--out", "page.pdf"), "'page.pdf' ends in none of .html, .htm"),
        (("results.db", "--explain", "colocated"), "no task 'colocated' in the store"),
        (("results.db", "--explain", "x", "--no-explain"), "exclude each other"),
        (("results.db", "--no-explain", "--manifest", "no.toml"), "no manifest 'no.toml'"),
        (
            ("results.db", "--reference", "mpl"),
            "no fits of the reference 'mpl': did you mean 'mlp'?",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_line(store, arguments, message):
    Store("empty.db").close()
    store.with_name("text.db").write_text("nothing that a database is made of" * 40)
    with sqlite3.connect("foreign.db") as other:
        other.execute("CREATE TABLE x (y)")
    before = sorted(store.parent.iterdir())
    result = npf("report", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert sorted(store.parent.iterdir()) == before


def test_serving_opens_a_browser_and_ends_on_an_interrupt(store, monkeypatch):
    opened, served = [], []

    def interrupted(self):
        served.append(self.content)
        raise KeyboardInterrupt

    monkeypatch.setattr(command.webbrowser, "open", opened.append)
    monkeypatch.setattr(PageServer, "serve_forever", interrupted)
    result = npf("report", store, "--no-explain", "--no-theory", "--serve")
    assert result.exit_code == 0, result.output
    assert opened[0] in result.stdout
    assert b"PointNet++ beats" in served[0]
    assert not store.with_name("report.html").exists()
    npf("report", store, "--no-explain", "--no-theory", "--serve", "--no-open", "--out", "x.html")
    assert len(opened) == 1
    assert store.with_name("x.html").exists()


def test_a_port_that_is_taken_is_told_before_the_work(store, monkeypatch):
    monkeypatch.setattr("pointforms.paper.theory.section.theory_section", None)
    with PageServer(store) as other:
        result = npf("report", store, "--serve", "--port", other.server_port, "--out", "x.html")
    assert result.exit_code == 2
    assert f"npf report: port {other.server_port} cannot be used: " in result.stderr
    assert not store.with_name("x.html").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "results.db", "--no-explain", "--no-theory", "--out", "results.db"),
        ("table", "results.db", "--format", "csv", "--out", "results.db"),
        ("export", "results.db", "results.db"),
    ],
)
def test_a_store_is_not_overwritten_by_what_is_made_of_it(store, arguments):
    before = store.read_bytes()
    result = npf(*arguments)
    assert result.exit_code == 2
    assert "is read by this command" in result.stderr
    assert store.read_bytes() == before

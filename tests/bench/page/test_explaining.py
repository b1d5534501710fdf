"""Fitted models on the page."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.helpers.samples import fits

from pointforms.bench.fitting import fit_unit, prepare
from pointforms.bench.page.explaining import choices, model_article, models_section, refit
from pointforms.bench.records import Row, Unit
from pointforms.bench.sweep import read_sweep
from pointforms.tasks import load, write

SMALL = {"epochs": 2, "forms": 3}


@pytest.fixture(scope="module")
def trained():
    """Fits of a small task, as a sweep stores them."""
    rows = [
        Row("circles-vs-lines", model, SMALL, clouds=40, points=24)
        for model in ("npf-tri-1", "npf-tri-2")
    ]
    units = [Unit(row, ((0, 0), (0, 1), (1, 0), (1, 1))) for row in rows]
    return [record for unit in units for record in fit_unit(unit, prepare(unit))]


def test_a_stored_fit_is_made_again(trained):
    for record in trained:
        found = refit(record)
        assert found.auroc == pytest.approx(record.auroc, abs=1e-6)
        assert found.unseen.sum() == record.test_size


def test_an_article_has_what_the_model_learned(trained):
    one, two = (
        next(r for r in trained if r.row.model == name) for name in ("npf-tri-1", "npf-tri-2")
    )
    article = model_article(one)
    forms, places, relied, split, examples = article.parts
    assert forms.title == "Learned 1-forms"
    titles = [axes.get_title() for axes in forms.pictures[0].figure.axes]
    assert titles[0] == "clouds"
    shares = [int(title.split()[1].removesuffix("%")) for title in titles[1:4]]
    assert shares == sorted(shares, reverse=True)  # the most energy first
    assert sum(shares) == pytest.approx(100, abs=2)
    marks = places.pictures[0].figure.axes[0].collections
    assert sum(len(mark.get_offsets()) for mark in marks) == 40
    clouds, rings = places.pictures[1].figure.axes[0].collections
    assert len(clouds.get_offsets()) == 40
    assert len(rings.get_offsets()) == one.test_size
    assert relied.title == "What the model relies on"
    assert {row["kind"] for row in relied.table.rows} == {"distribution", "covariation"}
    assert [row["form"] for row in split.table.rows] == [
        label.get_text() for label in split.pictures[0].figure.axes[0].get_yticklabels()
    ]
    shown = [picture.title.partition(":")[0] for picture in examples.pictures]
    assert shown == ["circles", "lines"]
    assert article.origin == "simulated"
    assert "as stored" in article.notes[1]
    assert ("fold", "0") in article.settings
    assert model_article(two).parts[0].title == "Learned 2-forms"
    assert models_section([article]).key == "models"


def test_clouds_of_a_file_have_their_names(tmp_path):
    task = load("circles-vs-lines", clouds=20, points=12)
    write(replace(task, ids=tuple(f"s{i:02}" for i in range(20))), tmp_path / "cells.csv")
    sweep = {"tasks": ["cells.csv"], "models": ["npf-tri-1"], "options": SMALL}
    (row,) = read_sweep(sweep, tmp_path).rows()
    unit = Unit(row, ((0, 0),))
    (record,) = fit_unit(unit, prepare(unit))
    _, places, _, _, examples = model_article(record).parts
    for picture in examples.pictures:
        assert re.fullmatch(r"(circles|lines): cloud s\d\d, probability .*", picture.title)
    axes = places.pictures[1].figure.axes
    shown = {label.get_text() for one in axes for label in one.get_yticklabels()}
    assert shown >= {f"s{i:02}" for i in range(20)}


def test_quick_and_planar_tasks_are_looked_at_first():
    records = [
        *fits("rna-velocity", "npf-tri-1", [0.8, 0.9], seconds=1.0),
        *fits("singlecell", "npf-tri-1", [0.8, 0.9], seconds=3.0),
        *fits("colocated", "npf-tri-1", [0.8, 0.9], seconds=9.0),
        *fits("density-shift", "npf-tri-1", [0.8, 0.9], seconds=500.0),
        *fits("parallel-lines", "mlp", [0.8, 0.9]),
    ]
    assert [record.row.task for record in choices(records)] == ["colocated", "rna-velocity"]
    (asked,) = choices(records, ["density-shift"])
    assert (asked.row.task, asked.fold, asked.seed) == ("density-shift", 0, 0)


def test_a_fit_that_cannot_be_made_again_is_refused():
    changed = fits("colocated", "npf-tri-1", [0.5], settings="00000000")[0]
    with pytest.raises(ValueError, match="with other defaults"):
        refit(changed)
    with pytest.raises(ValueError, match="not a point-form"):
        refit(fits("colocated", "mlp", [0.5])[0])

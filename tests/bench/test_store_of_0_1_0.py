"""A store that version 0.1.0 wrote: it opens, its rows are the same rows, and its tables print."""

from __future__ import annotations

import shutil
import sqlite3
from math import isnan
from pathlib import Path

import pytest

from pointforms.bench.costs import costs_table, runs_table
from pointforms.bench.manifest import read_manifest
from pointforms.bench.records import Record, Row
from pointforms.bench.results_table import results_tables
from pointforms.bench.running import run
from pointforms.bench.store import Store
from pointforms.support.table import FORMS

WRITTEN = Path(__file__).parents[1] / "data" / "store-of-0.1.0.db"
# What it was written for.
MANIFEST = """
title = "A store of 0.1.0"
folds = 2

[[sweep]]
tasks = ["circles-vs-lines"]
models = ["npf-tri-1", "mlp"]
clouds = 40
points = 16
[sweep.options]
epochs = 2

[[sweep]]
tasks = ["circles-vs-lines"]
models = ["logistic-regression"]
clouds = 40
points = 16
"""


class Idle:
    """An engine that has nothing to train."""

    name, workers = "idle", 1

    def run(self, take):
        assert take() is None
        return iter(())


@pytest.fixture
def store(tmp_path):
    with Store(shutil.copy(WRITTEN, tmp_path / "old.db"), create=False) as opened:
        yield opened


def test_its_fits_are_read_with_their_predictions(store):
    records = store.records()
    assert len(records) == 6
    assert {record.version for record in records} == {"0.1.0"}
    scores = {(r.row.model, r.fold): r.auroc for r in records}
    assert scores["npf-tri-1", 0] == 0.625
    for record in records:
        assert record.probabilities.shape == (record.test_size, 2)
        assert record.probabilities.sum(axis=1) == pytest.approx(1.0)


def test_its_rows_are_the_same_rows_and_nothing_is_trained_again(store, tmp_path):
    (tmp_path / "again.toml").write_text(MANIFEST)
    manifest = read_manifest(tmp_path / "again.toml")
    assert {record.row for record in store.records()} == set(manifest.rows())
    outcome = run(manifest.units(), store, Idle())
    assert (outcome.trained, outcome.already_stored) == (0, 6)


def columns(path):
    db = sqlite3.connect(path)
    names = [name for _, name, *_ in db.execute("PRAGMA table_info(fits)")]
    db.close()
    return names


def test_its_fits_have_no_brier_score_and_later_ones_do(store):
    before = columns(store.path)
    assert "brier" not in before
    assert all(isnan(record.brier) for record in store.records())
    assert columns(store.path) == before  # reading has not changed the file
    new = [Record(Row("colocated", "mlp"), 0, seed, auroc=0.5, brier=0.375) for seed in (0, 1)]
    assert store.finish(None, new[:1]) == 1
    assert columns(store.path) == [*before, "brier"]
    assert store.finish(None, new) == 1
    scores = [record.brier for record in store.records()]
    assert [score for score in scores if not isnan(score)] == [0.375, 0.375]
    assert len(scores) == 8
    with Store(store.path, read_only=True) as reader:
        assert len(reader.records(predictions=False)) == 8


def test_a_process_that_had_it_open_sees_the_new_column(store):
    with Store(store.path) as other:
        assert len(other.records()) == 6
        store.finish(None, [Record(Row("colocated", "mlp"), 0, 0, brier=0.25)])
        assert [r.brier for r in other.records() if r.row.model == "mlp"][-1] == 0.25
        other.finish(None, [Record(Row("colocated", "mlp"), 1, 0, brier=0.5)])
    assert {r.brier for r in store.records() if not isnan(r.brier)} == {0.25, 0.5}


def test_its_tables_print(store):
    (table,) = results_tables(store.records(predictions=False))
    assert [row["model"] for row in table.rows] == [
        "NPF (selected)", "NPF-Tri k=1", "Logistic regression", "MLP",
    ]  # fmt: skip
    for form in FORMS:
        assert "NPF-Tri k=1" in table.render(form)
    assert [run.title for run in store.runs()] == ["A store of 0.1.0"]
    assert "0.1.0" in runs_table(store.runs()).markdown()
    assert costs_table(store.records()).total["fits"] == 6

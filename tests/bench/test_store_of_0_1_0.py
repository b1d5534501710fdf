"""A store that version 0.1.0 wrote: it opens, its rows are the same rows, and its tables print."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pointforms.bench.costs import costs_table, runs_table
from pointforms.bench.manifest import read_manifest
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

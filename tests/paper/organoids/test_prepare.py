"""Prepared tasks: whole or not at all, without leaks, in coordinates of their folds."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from tests.helpers.organoids import changed

from pointforms import tasks
from pointforms.paper.organoids.prepare import TASKS, Options, prepare
from pointforms.paper.organoids.prepared_tasks import load_from
from pointforms.paper.organoids.schema import schema, withheld


def only(table, **values):
    """Rows without those of some values."""
    keep = np.ones(len(table), dtype=bool)
    for name, value in values.items():
        keep &= np.array(table[name].to_pylist()) != value
    return table.filter(pa.array(keep))


def test_seven_tasks(folder, monkeypatch):
    monkeypatch.setenv("POINTFORMS_PDO", str(folder))
    for name in TASKS:
        task = tasks.load(f"pdo-{name}")
        response = name in ("tumor-selective", "efp", "caf")
        assert len(task) == (240 if response else 1080)
        assert "SIMULATED" in task.description
        assert task.sizes.max() <= (256 if response else 128)
        assert task.by_fold == response
        for fold in range(5):
            test = task.folds == fold
            assert not set(task.groups[test]) & set(task.groups[~test])
            assert len(set(task.labels[test])) > 1
    assert len(tasks.load("pdo-patient").class_names) == 10
    assert len(tasks.load("pdo-treatment").feature_names) == 44
    assert tasks.load("pdo-efp").labels.mean() == pytest.approx(0.3)
    some = tasks.load("pdo-culture", clouds=60, points=9)
    assert len(some) == 60
    assert some.sizes.max() <= 9


def test_no_withheld_marker_is_an_input(folder):
    for name in ("tumor-selective", "efp", "caf"):
        task = load_from(folder / f"pdo-{name}")
        assert not set(withheld(name)) & set(task.feature_names)
        assert len(task.feature_names) == 44 - len(withheld(name))


def test_a_repeated_preparation_is_the_same(table, folder, tmp_path):
    prepare(table, tmp_path, ["caf"])
    first, second = load_from(folder / "pdo-caf"), load_from(tmp_path / "pdo-caf")
    np.testing.assert_array_equal(first.labels, second.labels)
    for a, b in zip(first.clouds, second.clouds, strict=True):
        np.testing.assert_array_equal(a, b)
    other = prepare(table, tmp_path, ["caf"], Options(policy="relaxed", replicates=True))["caf"]
    assert len(load_from(other)) == 24 * 10 * 3
    assert "pAKT308" in load_from(other).feature_names
    assert [p.name for p in tmp_path.iterdir()] == ["pdo-caf"]


def test_what_cannot_be_matched_is_told(table, tmp_path):
    out = tmp_path / "out"
    lacking = changed(table, tmp_path, lambda t: only(t, Treatment="AH"))
    with pytest.raises(ValueError, match=r"efp: 90 treated conditions lack the control.*/CSF/"):
        prepare(lacking, out, ["celltype", "efp"])
    assert not out.exists()
    made = prepare(lacking, out, ["efp"], Options(drop_unmatched=True))
    assert len(load_from(made["efp"])) == 150  # without the nine of plate CSF
    assert (
        "90 treated conditions lack the control"
        in json.loads((out / "pdo-efp" / "task.json").read_text())["notes"][0]
    )
    alone = changed(table, tmp_path, lambda t: only(t, Culture="PDO"))
    with pytest.raises(ValueError, match="caf: no condition has everything its label needs"):
        prepare(alone, tmp_path / "none", ["caf"])
    assert not (tmp_path / "none").exists()


def test_a_fold_of_one_class_is_refused_and_a_patient_of_one_class_told(table, tmp_path):
    def few(cells):
        return cells.filter(pa.array(np.isin(cells["Patient"].to_pylist(), ["5", "11"])))

    def dead(cells, others=True):  # tumour cells of patient 5 die of everything, others of nothing
        values = cells["cPARP"].to_numpy().copy()
        tumour = np.array(cells["Cell_type"].to_pylist()) == "PDOs"
        treated = ~np.isin(cells["Treatment"].to_pylist(), list(schema().vehicles.values()))
        five = np.array(cells["Patient"].to_pylist()) == "5"
        values[tumour & treated & five] = 1e5
        if others:
            values[tumour & treated & ~five] = 0
        return cells.set_column(cells.column_names.index("cPARP"), "cPARP", pa.array(values))

    path = changed(table, tmp_path, lambda t: dead(few(t)))
    with pytest.raises(ValueError, match=r"tumor-selective: class '\d' has clouds of 1 group only"):
        prepare(path, tmp_path / "out", ["tumor-selective"])
    assert not list((tmp_path / "out").glob("*"))
    with pytest.warns(UserWarning, match="patients with one class only: .*5"):
        prepare(changed(table, tmp_path, lambda t: dead(t, False)), tmp_path, ["tumor-selective"])


def test_nothing_else_is_overwritten(table, tmp_path):
    (tmp_path / "pdo-efp").mkdir()
    (tmp_path / "pdo-efp" / "mine.txt").write_text("keep")
    with pytest.raises(FileExistsError, match="is not a prepared task"):
        prepare(table, tmp_path, ["efp"])
    assert [p.name for p in tmp_path.rglob("*")] == ["pdo-efp", "mine.txt"]
    with pytest.raises(ValueError, match="no task 'epf': there are tumor-selective"):
        prepare(table, tmp_path, ["epf"])

"""Prepared tasks: whole or not at all, without leaks, in coordinates of their folds."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from pointforms import tasks
from pointforms.cli.app import app
from pointforms.paper.organoids.audit import audit
from pointforms.paper.organoids.prepare import TASKS, Options, prepare
from pointforms.paper.organoids.prepared_tasks import load_from, principal
from pointforms.paper.organoids.schema import schema, withheld
from pointforms.paper.organoids.simulate import write_simulated


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("pdo") / "cells.parquet"
    write_simulated(path, cells=14, seed=1)
    return path


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    out = tmp_path_factory.mktemp("prepared")
    prepare(table, out)
    return out


def changed(table, tmp_path, change):
    path = tmp_path / "changed.parquet"
    parquet.write_table(change(parquet.read_table(table)), path)
    return path


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


def test_coordinates_are_fitted_without_the_tested_patients(folder):
    task = load_from(folder / "pdo-efp")
    fold = task.fold(2)
    assert fold.test.clouds[0].shape[1] == 12
    assert sum(len(part) for part in (fold.train, fold.validation, fold.test)) == 240
    cells = np.concatenate([c for c, f in zip(task.clouds, task.folds, strict=True) if f != 2])
    mean, directions = principal(cells, 12)
    for i, cloud in zip(fold.test.index, fold.test.clouds, strict=True):
        np.testing.assert_allclose(cloud, (task.clouds[i] - mean) @ directions, rtol=0, atol=1e-4)
    projected = (cells - mean) @ directions
    np.testing.assert_allclose(
        np.cov(projected.T) - np.diag(np.var(projected, axis=0)), 0, atol=1e-2
    )
    # what is tested may be anything: the coordinates of the others stay
    other = [c * 5 if f == 2 else c for c, f in zip(task.clouds, task.folds, strict=True)]
    again = type(task)(**{**vars(task), "clouds": other, "_projected": {}})
    np.testing.assert_array_equal(again.fold(2).train.clouds[0], fold.train.clouds[0])
    with pytest.raises(ValueError, match="fold 9"):
        task.fold(9)


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


def test_the_audit_passes(folder):
    for name in ("tumor-selective", "patient"):
        found = audit(folder / f"pdo-{name}")
        assert all(one.passed for one in found), found


def test_the_audit_finds_planted_leaks(table, folder, tmp_path):
    def copy(cells):  # a marker that is kept becomes a copy of one that is withheld
        place = cells.column_names.index("pS6")
        return cells.set_column(place, "pS6", cells["cPARP"])

    made = prepare(changed(table, tmp_path, copy), tmp_path / "copied", ["efp"])["efp"]
    wrong = {one.what: one.found for one in audit(made) if not one.passed}
    assert list(wrong) == ["copies"]
    assert "pS6 is a copy of cPARP" in wrong["copies"]

    def spoil(content, facts):
        content["fold"][0] = (content["fold"][0] + 1) % 5
        facts["markers"][3] = "cPARP"

    made = prepare(table, tmp_path / "spoilt", ["efp"])["efp"]
    with np.load(made / "clouds.npz") as archive:
        content = {name: archive[name].copy() for name in archive.files}
    facts = json.loads((made / "task.json").read_text())
    spoil(content, facts)
    np.savez(made / "clouds.npz", **content)
    (made / "task.json").write_text(json.dumps(facts))
    with np.load(made / "audit.npz") as archive:
        cells = {name: archive[name].copy() for name in archive.files}
    cells["rows"][1] = cells["rows"][0]
    cells["conditions"][5] = "5/PDO/PDOs/SLV/DMSO/0"
    np.savez(made / "audit.npz", **cells)
    wrong = {one.what for one in audit(made) if not one.passed}
    assert wrong == {"groups", "withheld markers", "cells", "controls"}


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


def test_commands(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    made = runner.invoke(app, ["pdo", "simulate", "cells.parquet", "--cells", "4"])
    assert made.exit_code == 0, made.output
    assert "simulated" in made.output
    done = runner.invoke(app, ["pdo", "prepare", str(table), "--task", "caf", "--task", "culture"])
    assert done.exit_code == 0, done.output
    assert "peak memory" in done.output
    checked = runner.invoke(app, ["pdo", "audit"])
    assert checked.exit_code == 0, checked.output
    nothing = runner.invoke(app, ["pdo", "audit", "--out", "none"])
    assert nothing.exit_code == 2
    with pytest.raises(FileNotFoundError, match="no prepared task 'pdo-efp' in 'pdo'"):
        tasks.load("pdo-efp")
    with pytest.raises(ValueError, match="no task 'pdo-cafe': did you mean 'pdo-caf'"):
        tasks.load("pdo-cafe")


def test_experiments_see_the_coordinates_of_the_fold(folder, monkeypatch, tmp_path):
    from pointforms.bench.fitting import fit_unit, preparation
    from pointforms.bench.fitting import prepare as prepare_unit
    from pointforms.bench.manifest import read_manifest
    from pointforms.bench.results_table import results_tables

    monkeypatch.setenv("POINTFORMS_PDO", str(folder))
    file = tmp_path / "mine.toml"
    file.write_text(
        'seeds = 2\n[[sweep]]\ntasks = ["pdo-caf"]\nmodels = ["mlp"]\nclouds = 60\npoints = 9\n'
        "together = 10\n[sweep.options]\nepochs = 1\n"
    )
    units = read_manifest(file).units()
    assert [len({fold for fold, _ in unit.fits}) for unit in units] == [1] * 5
    assert len({preparation(unit) for unit in units}) == 5
    prepared = prepare_unit(units[3])
    assert prepared.features == 12
    task = tasks.load("pdo-caf", clouds=60, points=9)
    np.testing.assert_array_equal(prepared.content.points[:9], task.in_fold(3)[0])
    records = fit_unit(units[3], prepared)
    assert [record.error for record in records] == [None, None]
    assert (
        "### pdo-caf (simulated cells, 60 clouds, 9 points)"
        in results_tables(records)[0].markdown()
    )

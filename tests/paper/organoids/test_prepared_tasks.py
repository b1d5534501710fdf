"""Coordinates are fitted in every fold, and sweeps use those of the fold."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from pointforms import tasks
from pointforms.paper.organoids.audit import audit
from pointforms.paper.organoids.prepare import Options, prepare
from pointforms.paper.organoids.prepared_tasks import impute, load_from, principal
from pointforms.paper.organoids.schema import schema, withheld
from pointforms.tasks import catalogue


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
    again = type(task)(**{**vars(task), "clouds": other, "_fitted": {}})
    np.testing.assert_array_equal(again.fold(2).train.clouds[0], fold.train.clouds[0])
    with pytest.raises(ValueError, match="fold 9"):
        task.fold(9)


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
    [(fold, store)] = prepared.content.items()
    assert (fold, store.points.shape[1]) == (3, 12)
    task = tasks.load("pdo-caf", clouds=60, points=9)
    np.testing.assert_array_equal(store.points[:9], task.in_fold(3)[0])
    records = fit_unit(units[3], prepared)
    assert [record.error for record in records] == [None, None]
    assert (
        "### pdo-caf (simulated cells, 60 clouds, 9 points)"
        in results_tables(records)[0].markdown()
    )


def test_imputed_values_are_those_of_a_regression_with_its_spread(rng):
    def cells(count):
        x = rng.normal(3, 1, (count, 3))
        noise = rng.normal(0, 0.5, count)
        return np.column_stack([x, 10 + 2 * x[:, 0] - x[:, 1] + noise]).astype(np.float32)

    clouds = [cells(500) for _ in range(6)]
    truth = clouds[5][:, -1].copy()
    clouds[5][:, -1] = np.nan
    clouds[0][:9, -1] = np.nan
    filled = impute(clouds, np.array([0, 1, 2, 3]), np.random.default_rng(0))
    expected = 10 + 2 * clouds[5][:, 0] - clouds[5][:, 1]
    assert (filled[5][:, -1] - expected).mean() == pytest.approx(0, abs=0.1)
    assert (filled[5][:, -1] - expected).std() == pytest.approx(0.5, abs=0.05)
    assert filled[5][:, -1].std() == pytest.approx(truth.std(), abs=0.2)
    np.testing.assert_array_equal(filled[0][9:], clouds[0][9:])  # what is known stays
    assert np.isfinite(filled[0]).all()
    assert np.isnan(clouds[5][:, -1]).all()
    with pytest.raises(ValueError, match="0 training cells have the marker"):
        impute(clouds, np.array([5]), rng)


@pytest.fixture(scope="module")
def imputed(table, tmp_path_factory):
    out = tmp_path_factory.mktemp("imputed")
    prepare(table, out, ["efp", "celltype"], Options(ppkca="impute"))
    return out


def test_imputation_is_fitted_without_the_tested_patients(imputed, monkeypatch):
    monkeypatch.setenv("POINTFORMS_PDO", str(imputed))
    task = tasks.load("pdo-celltype")
    assert (len(task), task.feature_names) == (1080, (*schema().markers, "pPKCa"))
    assert task.by_fold
    assert catalogue.depends_on_fold("pdo-celltype")
    clouds = task.in_fold(1)
    missing = np.isnan(np.concatenate(task.clouds))
    assert missing[:, -1].mean() == pytest.approx(0.45, abs=0.1)
    assert not missing[:, :-1].any()
    filled = np.concatenate(clouds)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[~missing], np.concatenate(task.clouds)[~missing])
    # what is tested may be anything: training clouds stay
    other = [c * 5 if f == 1 else c for c, f in zip(task.clouds, task.folds, strict=True)]
    again = type(task)(**{**vars(task), "clouds": other, "_fitted": {}}).in_fold(1)
    for i in np.flatnonzero(task.folds != 1):
        np.testing.assert_array_equal(again[i], clouds[i])
    # a response task does not impute from markers that it withholds
    response = tasks.load("pdo-efp")
    assert not set(withheld("efp")) & set(response.feature_names)
    assert response.feature_names[-1] == "pPKCa"
    assert np.isfinite(np.concatenate(response.in_fold(0))).all()
    assert response.in_fold(0)[0].shape[1] == 12


def test_imputed_tasks_pass_the_audit_and_have_their_own_digest(imputed, folder, monkeypatch):
    for name in ("efp", "celltype"):
        findings = audit(imputed / f"pdo-{name}")
        assert all(one.passed for one in findings), findings
    monkeypatch.setenv("POINTFORMS_PDO", str(imputed))
    digest = catalogue.content_digest("pdo-celltype")
    with np.load(imputed / "pdo-celltype" / "imputed.npz") as archive:
        values = archive["values"].copy()
    try:
        np.savez(imputed / "pdo-celltype" / "imputed.npz", values=values[::-1])
        assert catalogue.content_digest("pdo-celltype") != digest
    finally:
        np.savez_compressed(imputed / "pdo-celltype" / "imputed.npz", values=values)
    monkeypatch.setenv("POINTFORMS_PDO", str(folder))
    assert not catalogue.depends_on_fold("pdo-celltype")


def test_damaged_values_to_impute_are_an_error_that_says_so(imputed, tmp_path):
    damaged = shutil.copytree(imputed / "pdo-efp", tmp_path / "pdo-efp")
    (damaged / "imputed.npz").write_bytes(b"PK damaged")
    with pytest.raises(ValueError, match=r"imputed\.npz' cannot be read .* prepare the task again"):
        load_from(damaged)

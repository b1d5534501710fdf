"""Coordinates are fitted in every fold, and sweeps use those of the fold."""

from __future__ import annotations

import numpy as np
import pytest

from pointforms import tasks
from pointforms.paper.organoids.prepared_tasks import load_from, principal


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

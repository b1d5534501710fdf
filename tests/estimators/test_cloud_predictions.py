"""Predictions with one row per cloud."""

from __future__ import annotations

import numpy as np
import pytest

import pointforms as pf
from pointforms.estimators import prediction_table


@pytest.fixture(scope="module")
def task():
    return pf.tasks.load("circles-vs-lines", clouds=24, points=12)


def test_training_clouds_are_found_whatever_their_order(task):
    model = pf.CloudClassifier(parts=("linear",), random_state=0)
    model.fit(task.clouds[:20], task.labels[:20])
    order = [21, 3, 0, 23, 7]
    ids = [f"c{i}" for i in order]
    table = prediction_table(model, pf.Clouds.from_list([task.clouds[i] for i in order], ids))
    assert [row["cloud"] for row in table.rows] == ids
    assert [row["out_of_fold"] for row in table.rows] == [False, True, True, False, True]
    for row, i in zip(table.rows, order, strict=True):
        if i < 20:
            assert row["probability_1"] == pytest.approx(model.oof_predictions_[i, 1], rel=1e-6)
        else:
            expected = model.predict_proba([task.clouds[i]])[0, 1]
            assert row["probability_1"] == pytest.approx(expected, rel=1e-5)
    assert len(table.notes) == 1


def test_a_model_without_members_says_that_it_has_seen_the_clouds(task):
    model = pf.PointFormClassifier(
        forms=2, hidden=(4,), epochs=1, neighbors=6, dimension=1, random_state=0
    ).fit(task.clouds, task.labels)
    table = prediction_table(model, pf.Clouds.from_list(task.clouds[:3]))
    assert not any(row["out_of_fold"] for row in table.rows)
    assert "3 training clouds have no out-of-fold prediction" in table.notes[0]


def test_members_predict_the_clouds_that_they_held_out(task):
    model = pf.PointFormClassifier(
        forms=2, hidden=(4,), epochs=1, neighbors=6, dimension=1, members=3, random_state=0
    ).fit(task.clouds, task.labels)
    order = np.arange(24)[::-1].copy()
    table = prediction_table(model, pf.Clouds.from_list([task.clouds[i] for i in order]))
    assert all(row["out_of_fold"] for row in table.rows)
    expected = model.predict_out_of_fold([task.clouds[i] for i in order], order)
    found = [row["probability_1"] for row in table.rows]
    np.testing.assert_allclose(found, expected[:, 1], rtol=1e-5)


def test_covariates_go_with_their_clouds(task):
    size = np.array([float(abs(cloud).max()) for cloud in task.clouds])
    sex = np.where(np.arange(24) % 3, "f", "m")
    model = pf.CloudRegressor(parts=("linear",), random_state=0)
    model.fit(task.clouds[:20], size[:20], covariates={"sex": sex[:20]})
    clouds = pf.Clouds.from_list(task.clouds)
    table = prediction_table(model, clouds, {"sex": sex})
    found = np.array([row["prediction"] for row in table.rows])
    np.testing.assert_allclose(found[:20], model.oof_predictions_, rtol=1e-6)
    expected = model.predict(task.clouds[20:], {"sex": sex[20:]})
    np.testing.assert_allclose(found[20:], expected, rtol=1e-5)

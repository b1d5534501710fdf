"""Predictions of stored fits by the names of clouds."""

from __future__ import annotations

import numpy as np

import pointforms as pf
from pointforms.bench import Record, Row
from pointforms.bench.fold_predictions import fold_predictions


def test_every_fit_has_a_row_per_test_cloud(tmp_path):
    task = pf.tasks.load("colocated", clouds=20, points=8)
    named = pf.tasks.Task(
        "mine", task.clouds, task.labels, task.groups, task.feature_names, task.class_names,
        ids=tuple(f"tube {i}" for i in range(20)),
    )  # fmt: skip
    pf.tasks.write(named, tmp_path / "mine.csv")
    row = Row((tmp_path / "mine.csv").as_posix(), "svm", content="ab")
    found = {"clouds": np.array([4, 1]), "probabilities": np.array([[0.9, 0.1], [0.3, 0.7]])}
    table = fold_predictions([Record(row, 0, 1, **found), Record(row, 1, 1, error="failed")])
    assert [one["cloud"] for one in table.rows] == ["tube 4", "tube 1"]
    assert [one["label"] for one in table.rows] == ["arcs", "segments"]
    assert [one["prediction"] for one in table.rows] == ["arcs", "segments"]
    assert [one["probability_segments"] for one in table.rows] == [0.1, 0.7]
    assert {(one["task"], one["model"], one["fold"], one["seed"]) for one in table.rows} == {
        ("mine", "svm", 0, 1)
    }

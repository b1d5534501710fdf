"""Folds and splits of a task: numbered from 0, none empty, every group on one side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pointforms as pf
from pointforms.tasks.task import grouped_folds

GROUPS = np.arange(12) // 2


def made(**parts) -> pf.tasks.Task:
    clouds = [np.eye(3, 2)] * 12
    return pf.tasks.Task(
        "noise", clouds, np.arange(12) % 2, GROUPS, ("x", "y"), ("a", "b"), **parts
    )


def test_folds_and_split_of_your_own_are_kept():
    task = made(folds=GROUPS % 3, split=np.where(GROUPS < 4, "train", "test"))
    assert task.folds.tolist() == (GROUPS % 3).tolist()
    assert set(task.split) == {"train", "test"}
    assert made(folds=list(GROUPS % 3)).split[:4].tolist() == ["test"] * 2 + ["validation"] * 2


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (np.where(GROUPS < 3, -1, 7), "the folds are -1, 7: expected whole numbers from 0"),
        (GROUPS % 3 + 1, "the folds are 1, 2, 3: expected whole numbers from 0"),
        (GROUPS % 2 * 2, "the folds are 0, 2: .* none empty"),
        (GROUPS * 0, "the folds are 0: .* at least two folds"),
        (GROUPS % 2 / 1, r"the folds are 0\.0, 1\.0: expected whole numbers"),
        (GROUPS[:5], r"folds of 'noise' has shape \(5,\): expected one value for each of 12"),
        (np.arange(12) % 2, r"group 0 has clouds in the folds 0, 1: .* \(and 5 more groups"),
    ],
)
def test_bad_folds_are_refused(folds, message):
    with pytest.raises(ValueError, match=message):
        made(folds=folds)


def test_bad_splits_are_refused():
    with pytest.raises(ValueError, match="split has the part 'tset': expected one of"):
        made(split=np.where(GROUPS < 3, "train", "tset"))
    parts = np.where(np.arange(12) < 3, "train", "test")
    with pytest.raises(ValueError, match="group 1 has clouds in the parts of the split 'test', 't"):
        made(split=parts)


def test_clouds_have_names(rng):
    task = pf.tasks.load("colocated", clouds=20, points=8)
    assert task.ids == tuple(map(str, range(20)))
    with pytest.raises(ValueError, match="ids of 'colocated' are 1 names for 20 clouds"):
        replace(task, ids=("a",) * 20)
    with pytest.raises(ValueError, match=r"batch of 'colocated' has shape \(3,\)"):
        replace(task, batch=np.zeros(3))


def test_numbers_to_predict_have_grouped_folds(rng):
    clouds = [rng.normal(size=(5, 2)) for _ in range(12)]
    task = pf.tasks.Task("mine", clouds, rng.normal(size=12), np.arange(12) // 3, ("x", "y"), ())
    assert task.regression
    assert repr(task) == "Task('mine': 12 clouds of 5 points in R^2, numbers)"
    assert set(task.folds.tolist()) == {0, 1, 2, 3}
    for group in range(4):
        assert len(set(task.folds[task.groups == group].tolist())) == 1


@pytest.mark.parametrize("labels", [np.arange(12) % 2, np.linspace(0, 1, 12)])
@pytest.mark.parametrize("folds", [-1, 0, 1])
def test_fewer_than_two_folds_are_refused(labels, folds):
    with pytest.raises(ValueError, match=f"^folds={folds}: expected at least 2$"):
        grouped_folds(labels, GROUPS, seed=0, folds=folds)


@pytest.mark.parametrize("kind", [int, float])
def test_no_clouds_have_no_folds(kind):
    with pytest.raises(ValueError, match="no clouds to divide into folds"):
        grouped_folds(np.zeros(0, kind), np.zeros(0), seed=0)


@pytest.mark.parametrize(("labels", "groups"), [((3,), (4,)), ((4, 1), (4, 1)), ((), ())])
@pytest.mark.parametrize("kind", [int, float])
def test_folds_need_one_label_and_one_group_of_each_cloud(labels, groups, kind):
    with pytest.raises(ValueError, match=r"labels have shape \(.*\) and groups \(.*\): expected"):
        grouped_folds(np.zeros(labels, kind), np.zeros(groups, int), seed=0)


def test_labels_of_fewer_clouds_are_counted_before_folds_are_made():
    clouds = [np.zeros((3, 2))] * 4
    message = r"^labels of 'mine' has shape \(3,\): expected one value for each of 4 clouds$"
    with pytest.raises(ValueError, match=message):
        pf.tasks.Task("mine", clouds, [0, 1, 0], [0, 1, 2], ("x", "y"), ("a", "b"))

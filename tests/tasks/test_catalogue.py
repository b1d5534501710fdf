"""The catalogue: every task is complete, repeats, and does not reveal its labels by accident."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.tasks import auroc, need_data_of

import pointforms as pf
from pointforms.tasks import catalogue

MADE = [name for name in pf.tasks.names() if not pf.tasks.entry(name).recorded]

# clouds, smallest and largest size, features
PAPER = {
    "circles-vs-lines": (300, 128, 128, 2),
    "concentric-circles": (300, 128, 128, 2),
    "parallel-lines": (300, 128, 128, 2),
    "colocated": (300, 128, 128, 2),
    "density-check": (300, 128, 128, 2),
    "density-shift": (296, 256, 256, 2),
    "singlecell": (320, 128, 128, 50),
    "rna-velocity": (1000, 5, 40, 50),
    "rna-velocity-quick": (160, 4, 15, 24),
    "rna-velocity-steady": (1000, 5, 40, 50),
    "japanese-vowels": (640, 7, 29, 12),
    "osteosarcoma-treatment": (650, 128, 128, 2),
    "osteosarcoma-line": (650, 128, 128, 2),
}


def test_sizes_are_those_of_the_paper():
    assert list(PAPER) == pf.tasks.names()


@pytest.mark.parametrize("name", list(PAPER))
def test_tasks_are_whole(name):
    need_data_of(name)
    task = pf.tasks.load(name)
    N = len(task)
    assert (N, task.sizes.min(), task.sizes.max(), task.clouds[0].shape[1]) == PAPER[name]
    assert task.labels.shape == task.groups.shape == task.folds.shape == task.split.shape == (N,)
    assert len(task.feature_names) == task.clouds[0].shape[1]
    assert sorted(set(task.labels)) == list(range(len(task.class_names)))
    assert set(task.folds) == set(range(5))
    shares = np.bincount(task.labels) / N
    for fold in range(5):
        inside, outside = task.groups[task.folds == fold], task.groups[task.folds != fold]
        assert not set(inside) & set(outside)
        here = np.bincount(task.labels[task.folds == fold], minlength=len(shares))
        np.testing.assert_allclose(here / here.sum(), shares, atol=0.05)
        assert 0.15 < len(inside) / N < 0.25
    again = pf.tasks.load(name)
    for a, b in zip(task.clouds, again.clouds, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(pf.tasks.load(name, seed=1).clouds[0], task.clouds[0])
    assert name in repr(task)


@pytest.mark.parametrize("name", MADE)
def test_three_parts_keep_groups_apart(name):
    task = pf.tasks.load(name)
    for part, share in (("train", 0.6), ("validation", 0.2), ("test", 0.2)):
        assert np.mean(task.split == part) == pytest.approx(share, abs=0.03)
        assert not set(task.groups[task.split == part]) & set(task.groups[task.split != part])


@pytest.mark.parametrize("name", MADE)
def test_sizes_can_be_chosen(name):
    task = pf.tasks.load(name, clouds=30, points=9)
    assert len(task) == 30
    assert task.sizes.max() == 9


@pytest.mark.parametrize("name", MADE)
def test_labels_cannot_be_read_from_sizes_or_order(name):
    for seed in (0, 1):
        task = pf.tasks.load(name, seed)
        assert 0.35 < auroc(task.sizes[:, None].astype(float), task) < 0.65
        ends = np.array([cloud[0] - cloud[-1] for cloud in task.clouds])
        assert 0.35 < auroc(ends, task) < 0.65


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "squares"}, "no task 'squares': expected one of 'circles-vs-lines'"),
        ({"name": "colocated", "clouds": 4}, "clouds=4: expected at least 20"),
        ({"name": "colocated", "points": 1}, "points=1: expected at least 2"),
        ({"name": "japanese-vowels", "clouds": 50}, "clouds=50: .* fixed size"),
        ({"name": "colocated", "seed": -1}, "seed=-1"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        pf.tasks.load(**arguments)


# --- what manifests ask of it ---------------------------------------------------------------


def test_entries_describe_the_tasks_they_make():
    for name in MADE:
        entry = pf.tasks.entry(name)
        task = entry.load(clouds=20, points=9)
        assert task.name == name
        assert len(task.feature_names) == entry.features
        assert len(task.class_names) == entry.classes
        assert task.description == entry.description
        assert catalogue.full_size(name) == (entry.clouds, entry.points)
        assert not catalogue.depends_on_fold(name)
        assert catalogue.content_digest(name) is None
    assert pf.tasks.entry("japanese-vowels").recorded


def test_prepared_tasks_are_registered_by_their_own_package(tmp_path, monkeypatch):
    monkeypatch.setenv("POINTFORMS_PDO", str(tmp_path))
    assert not set(pf.tasks.names()) & {"pdo-efp", "pdo-patient"}
    assert {"pdo-efp", "pdo-patient"} <= set(pf.tasks.names(prepared=True))
    assert catalogue.depends_on_fold("pdo-efp")
    assert not catalogue.depends_on_fold("pdo-patient")
    assert catalogue.content_digest("pdo-efp") is None  # not prepared
    assert pf.tasks.entry("pdo-efp").summary() is None
    assert "perturbation" in pf.tasks.about("pdo-efp")


def test_a_registered_task_can_be_loaded(monkeypatch):
    monkeypatch.setattr(catalogue, "_CATALOGUE", dict(catalogue._CATALOGUE))
    pf.tasks.register(replace(pf.tasks.entry("colocated"), name="mine", description="mine"))
    assert "mine" in pf.tasks.names()
    assert pf.tasks.find("mine", clouds=20).description == "mine"


def test_files_are_resolved_and_hashed(tmp_path):
    (tmp_path / "cells.csv").write_text("a,b\n")
    path = catalogue.resolve("cells.csv", tmp_path)
    assert Path(path) == (tmp_path / "cells.csv").resolve()
    assert catalogue.resolve("colocated", tmp_path) == "colocated"
    assert catalogue.content_digest(path) == hashlib.sha256(b"a,b\n").hexdigest()[:16]
    assert catalogue.full_size(path) is None
    assert not catalogue.depends_on_fold(path)
    with pytest.raises(ValueError, match=r"no file 'cell.csv': did you mean 'cells.csv'"):
        catalogue.resolve("cell.csv", tmp_path)
    with pytest.raises(ValueError, match=r"cells.csv has a fixed size"):
        catalogue.check_size(path, "clouds", 30)


def test_simulated_content_is_marked():
    assert catalogue.is_simulated("simulated-0123456789abcdef")
    assert not catalogue.is_simulated("0123456789abcdef")
    assert not catalogue.is_simulated(None)


# --- the same seed gives the same values on any machine -------------------------------------

# First and last coordinate, Σ_i (i + 1) Σ cloud_i / N, and the folds of the first clouds, seed 0.
FINGERPRINTS = {
    "circles-vs-lines": (
        -1.1955042410615533,
        -0.35044481426896107,
        -508.20899421528156,
        "0033110022112244",
    ),
    "concentric-circles": (
        0.6483089287340628,
        0.3576781028074293,
        635.1793258973026,
        "0033110022112244",
    ),
    "parallel-lines": (
        0.602630045734393,
        0.6359998014320546,
        -486.1403365852609,
        "0033110022112244",
    ),
    "colocated": (
        -0.12610104450649248,
        -0.2339674715442466,
        -428.6893563598322,
        "0033110022112244",
    ),
    "density-check": (
        -0.9957516983607473,
        0.4383868131551965,
        -549.562985870278,
        "0033110022112244",
    ),
    "density-shift": (
        -1.2968893677692228,
        0.6380309364410497,
        -791.5985690261645,
        "1122003344112200",
    ),
    "singlecell": (0.6830052182907649, 3.142005577805885, 2493210.1172821024, "1100334411222222"),
    "rna-velocity": (1.6911696764584905, 0.6103216602994165, 686282.1133850657, "3322443300444411"),
    "rna-velocity-quick": (
        0.36344089451758843,
        2.8103675097758467,
        22636.92116859373,
        "3322111111113333",
    ),
    "rna-velocity-steady": (
        0.8814719097020769,
        0.4714200456087409,
        613231.6053162641,
        "3322443300444411",
    ),
    "japanese-vowels": (1.181849, 0.298334, -1501.2566103984386, "3240214443331103"),
    "osteosarcoma-treatment": (33.81903618244553, 44.51299440682914, 0.0, "0211201300442310"),
    "osteosarcoma-line": (33.81903618244553, 44.51299440682914, 0.0, "1030210300342233"),
}


@pytest.mark.parametrize("name", list(FINGERPRINTS))
def test_values_do_not_change(name):
    need_data_of(name)
    task = pf.tasks.load(name)
    first, last, total, folds = FINGERPRINTS[name]
    assert task.clouds[0][0, 0] == pytest.approx(first, abs=1e-9)
    assert task.clouds[-1][-1, -1] == pytest.approx(last, abs=1e-9)
    weighted = sum((i + 1) * float(cloud.sum()) for i, cloud in enumerate(task.clouds))
    assert weighted / len(task) == pytest.approx(total, rel=1e-9, abs=1e-7)
    assert "".join(map(str, task.folds[: len(folds)])) == folds


def test_every_task_has_a_fingerprint():
    assert list(FINGERPRINTS) == pf.tasks.names()

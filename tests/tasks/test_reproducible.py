"""The same seed gives the same values on any machine: fingerprints that were made once."""

from __future__ import annotations

import pytest

import pointforms as pf

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
    "japanese-vowels": (1.181849, 0.298334, -1501.2566103984386, "3240214443331103"),
}


@pytest.mark.parametrize("name", list(FINGERPRINTS))
def test_values_do_not_change(name):
    task = pf.tasks.load(name)
    first, last, total, folds = FINGERPRINTS[name]
    assert task.clouds[0][0, 0] == pytest.approx(first, abs=1e-9)
    assert task.clouds[-1][-1, -1] == pytest.approx(last, abs=1e-9)
    weighted = sum((i + 1) * float(cloud.sum()) for i, cloud in enumerate(task.clouds))
    assert weighted / len(task) == pytest.approx(total, rel=1e-9, abs=1e-7)
    assert "".join(map(str, task.folds[: len(folds)])) == folds


def test_every_task_has_a_fingerprint():
    assert list(FINGERPRINTS) == pf.tasks.names()

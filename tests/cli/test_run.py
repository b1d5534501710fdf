"""`npf run`."""

from __future__ import annotations

import os

import pytest
from tests.helpers.commands import ok, refused

from pointforms.bench.records import Row
from pointforms.bench.store import Store

pytestmark = pytest.mark.usefixtures("folder")


def test_run_fits_models_with_options():
    printed = ok(
        "run", "circles-vs-lines", "npf-tri-1", "npf-flat-1", "--folds", "1", "--seeds", "2",
        "--clouds", "40", "--points", "24", "--set", "epochs=1", "--set", "hidden=[8]",
        "--set", "measure=volume", "--store", "mine.db",
    )  # fmt: skip
    assert "4 fits trained" in printed
    with Store("mine.db", create=False) as store:
        records = store.records()
    options = {"epochs": 1, "hidden": [8], "measure": "volume"}
    assert {r.row for r in records} == {
        Row("circles-vs-lines", model, options, 40, 24) for model in ("npf-tri-1", "npf-flat-1")
    }
    assert sorted({(r.fold, r.seed) for r in records}) == [(0, 0), (0, 1)]
    assert not any(r.error for r in records)


def test_fits_on_a_file_are_those_of_its_content():
    sizes = ["--clouds", "40", "--points", "24"]
    ok("tasks", "write", "circles-vs-lines", "mine.npz", *sizes)
    fit = ["run", "mine.npz", "mlp", "--folds", "1", "--set", "epochs=1", "--store"]
    assert "1 fits trained" in ok(*fit, "a.db")
    ok("export", "a.db", "fits.csv")
    ok("import", "fits.csv", "--store", "b.db")
    assert "0 fits trained" in ok(*fit, "b.db")
    ok("tasks", "write", "colocated", "mine.npz", *sizes)
    assert "1 fits trained" in ok(*fit, "b.db")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["circles", "mlp"], "no task 'circles'"),
        (["colocated", "mpl"], "no model 'mpl': did you mean 'mlp'?"),
        (["colocated", "mlp", "--set", "epochs"], "--set 'epochs': expected NAME=VALUE"),
        (["colocated", "mlp", "--set", "epochs=-1"], "epochs"),
        (["colocated", "mlp", "--clouds", "3"], "clouds=3: expected at least"),
        (["colocated", "mlp", "--devices", "gpu0"], "--devices gpu0"),
        (["colocated", "mlp", "--devices", "cpu,"], "--devices cpu,"),
        (["colocated", "mlp", "--address", "auto"], "--engine ray"),
        (["colocated", "mlp", "--engine", "ray", "--devices", "cpu"], "--devices cpu"),
        (["colocated", "mlp", "--store", "no/where.db"], "no folder 'no'"),
    ],
)
def test_mistakes_are_explained_and_leave_nothing(arguments, message):
    printed = refused("run", *arguments)
    assert message in printed
    assert "npf run:" in printed
    assert os.listdir() == []

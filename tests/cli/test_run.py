"""`npf run`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.helpers.commands import ok, refused

from pointforms.bench.records import Row
from pointforms.bench.running import checked_task
from pointforms.bench.store import Store

pytestmark = pytest.mark.usefixtures("folder")

#: Three clouds of each class.
GROUPS = "cloud,label,x\n" + "".join(
    f"{i},{'ab'[i % 2]},{x}\n" for i in range(6) for x in (i, i + 0.5, i + 2)
)


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


def test_folders_of_a_store_are_created():
    small = ["--clouds", "20", "--points", "8", "--folds", "2"]
    ok("run", "colocated", "logistic-regression", *small, "--store", "sub/dir/mine.db")
    ok("export", "sub/dir/mine.db", "fits/mine.csv")
    ok("import", "fits/mine.csv", "--store", "other/mine.db")
    for path in ("sub/dir/mine.db", "other/mine.db"):
        assert "logistic regression" in ok("table", path).lower()
    message = f"{str(Path('other/mine.db'))!r} is a file: expected a folder"
    assert message in refused("run", "colocated", "mlp", "--store", "other/mine.db/no.db")


def test_a_wrong_file_leaves_no_folders_for_a_store():
    Path("mine.csv").write_text("a,b\n1,2\n")
    assert "no column 'cloud'" in refused("run", "mine.csv", "mlp", "--store", "sub/dir/mine.db")
    assert os.listdir() == ["mine.csv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "npf run: mine.csv: no column 'cloud': the table has the columns 'a', 'b'"),
        ("cloud,x\n1,2\n", "npf run: mine.csv: no column 'label'"),
        (
            "cloud,label,x\n1,a,2\n1,a,4\n2,a,3\n2,a,1\n",
            "npf run: mine.csv: column 'label' has only",
        ),
        (GROUPS, "npf run: mine.csv has 3 folds, and no fold 3: `--folds 3`"),
    ],
)
def test_a_wrong_file_is_explained_before_anything_is_stored(content, message):
    Path("mine.csv").write_text(content)
    assert message in refused("run", "mine.csv", "mlp")
    assert os.listdir() == ["mine.csv"]
    Store("results.db").close()
    assert message in refused("run", "mine.csv", "mlp")
    with Store("results.db", create=False) as store:
        assert (store.runs(), store.records()) == ([], [])


def test_a_file_is_read_once_to_check_it():
    ok("tasks", "write", "colocated", "mine.npz", "--clouds", "20", "--points", "8")
    checked_task.cache_clear()
    printed = ok("run", "mine.npz", "logistic-regression", "svm", "--folds", "2")
    assert checked_task.cache_info().misses == 1
    assert "label: arcs 10, segments 10 (classification)" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["circles", "mlp"], "no task 'circles'"),
        (["colocated", "mpl"], "no model 'mpl': did you mean 'mlp'?"),
        (["colocated", "mlp", "--set", "epochs"], "--set 'epochs': expected NAME=VALUE"),
        (["colocated", "mlp", "--set", "epochs=-1"], "epochs"),
        (
            ["colocated", "mlp", "svm", "--set", "epochs=5"],
            "svm has no option 'epochs', mlp has it: list them separately, in a command",
        ),
        (["colocated", "mlp", "--clouds", "3"], "clouds=3: expected at least"),
        (["colocated", "mlp", "--devices", "gpu0"], "--devices gpu0"),
        (["colocated", "mlp", "--devices", "cpu,"], "--devices cpu,"),
        (["colocated", "mlp", "--address", "auto"], "--engine ray"),
        (["colocated", "mlp", "--engine", "ray", "--devices", "cpu"], "--devices cpu"),
        (["circles", "mlp", "--store", "no/where.db"], "no task 'circles'"),
        (["absent.csv", "mlp", "--store", "no/where.db"], "no file 'absent.csv'"),
    ],
)
def test_mistakes_are_explained_and_leave_nothing(arguments, message):
    printed = refused("run", *arguments)
    assert message in printed
    assert "npf run:" in printed
    assert os.listdir() == []

"""Manifests: what they expand to, and how bad ones are refused."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointforms import models, tasks
from pointforms.bench.manifest import Manifest, read_manifest, shipped
from pointforms.bench.records import Row
from pointforms.bench.sweep import Sweep
from pointforms.models.options import option_names, stackable
from pointforms.paper.organoids.prepare import TASKS

# --- expansion ------------------------------------------------------------------------------

SMALL = """
title = "Small"
folds = 2
seeds = [3, 5]
[[sweep]]
tasks = ["circles-vs-lines", "colocated"]
models = ["npf-tri-1", "npf-flat-1"]
[sweep.options]
epochs = 30
[sweep.grid]
learning_rate = [1e-2, 1]
hidden = [[16], [32, 32]]
"""


def test_every_combination_is_a_row(read):
    manifest = read(SMALL)
    rows = manifest.rows()
    assert manifest.title == "Small"
    assert manifest.fits == len(rows) * 4 == 64
    assert rows == [
        Row(task, model, {"epochs": 30, "learning_rate": rate, "hidden": hidden})
        for task in ("circles-vs-lines", "colocated")
        for model in ("npf-tri-1", "npf-flat-1")
        for rate in (1e-2, 1.0)
        for hidden in ([16], [32, 32])
    ]
    assert rows == read(SMALL).rows()
    assert manifest.units() == read(SMALL).units()


def test_defaults_of_a_manifest(read):
    manifest = read('[[sweep]]\ntasks = ["colocated"]\nmodels = ["mlp"]\n')
    assert manifest.title == "mine"
    assert manifest.rows() == [Row("colocated", "mlp")]
    assert [unit.fits for unit in manifest.units()] == [((fold, 0),) for fold in range(5)]


def test_a_sweep_has_its_own_folds_seeds_and_sizes(read):
    manifest = read(
        "folds = 3\nseeds = 2\n"
        '[[sweep]]\ntasks = ["colocated"]\nmodels = ["svm"]\nfolds = [4, 2]\nseeds = [7]\n'
        "clouds = 40\npoints = 16\ntask_seed = 9\n"
        '[[sweep]]\ntasks = ["colocated"]\nmodels = ["svm"]\n'
    )
    assert manifest.rows() == [
        Row("colocated", "svm", {}, 40, 16, 9),
        Row("colocated", "svm"),
    ]
    fits = [fit for unit in manifest.units() for fit in unit.fits]
    assert fits == [(2, 7), (4, 7), *product(range(3), range(2))]


def test_every_sweep_runs_on_all_seeds_of_the_tasks(read):
    sweep = '[[sweep]]\ntasks = ["colocated", "singlecell"]\nmodels = ["svm"]\nfolds = 2\n'
    own = '[[sweep]]\ntasks = ["colocated"]\nmodels = ["mlp"]\ntask_seed = 0\nfolds = [4]\n'
    manifest = read(f"task_seeds = [10, 11, 12]\n{sweep}{own}")
    assert manifest.rows() == [
        *(
            Row(task, "svm", task_seed=seed)
            for seed in (10, 11, 12)
            for task in ("colocated", "singlecell")
        ),
        Row("colocated", "mlp"),
    ]
    assert manifest.fits == 3 * 2 * 2 + 1
    two = read('task_seeds = 2\n[[sweep]]\ntasks = ["colocated"]\nmodels = ["mlp"]\n')
    assert [row.task_seed for row in two.rows()] == [0, 1]


def test_defaults_are_one_row_however_they_are_written(read):
    """Options at their defaults are left out, whole numbers stand for numbers."""
    manifest = read(
        '[[sweep]]\ntasks = ["colocated"]\nmodels = ["npf-tri-1"]\n'
        '[[sweep]]\ntasks = ["colocated"]\nmodels = ["npf-tri-1"]\n'
        '[sweep.options]\nbandwidth_policy = "variable"\nhidden = [64, 64]\n'
        "[sweep.grid]\nbandwidth = [1, 1.0, 2, 2.0]\n"
    )
    assert manifest.rows() == [
        Row("colocated", "npf-tri-1"),
        Row("colocated", "npf-tri-1", {"bandwidth": 2.0}),
    ]


def test_a_fit_named_twice_is_one(read):
    sweep = '[[sweep]]\ntasks = ["colocated"]\nmodels = ["mlp", "svm"]\n'
    manifest = read(f"{sweep}folds = 2\nseeds = 2\n{sweep}folds = [1, 2]\nseeds = [1, 2]\n")
    assert len(manifest.rows()) == 2
    fits = [(unit.row, *fit) for unit in manifest.units() for fit in unit.fits]
    assert len(fits) == len(set(fits)) == manifest.fits == 2 * 7


def test_files_are_beside_the_manifest(read, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cells.csv").touch()
    rows = read('[[sweep]]\ntasks = ["data/cells.csv"]\nmodels = ["mlp"]\n').rows()
    assert rows[0].task == (tmp_path / "data" / "cells.csv").resolve().as_posix()


# --- units ----------------------------------------------------------------------------------


def sizes(model: str, folds: int, seeds: int, together: int | None) -> list[int]:
    sweep = Sweep(
        tasks=("colocated",), models=(model,), folds=folds, seeds=seeds, together=together
    )
    return [len(unit.fits) for unit in Manifest("", (sweep,)).units()]


@pytest.mark.parametrize(
    ("together", "expected"),
    [
        (None, [5] * 5),
        (25, [25]),
        (12, [10, 10, 5]),
        (5, [5] * 5),
        (3, [3, 2] * 5),
        (1, [1] * 25),
    ],
)
def test_fits_that_stack_are_trained_together(together, expected):
    assert sizes("npf-tri-1", 5, 5, together) == sizes("mlp", 5, 5, together) == expected
    assert sizes("gcn", 5, 5, together) == sizes("svm", 5, 5, together) == [1] * 25


@given(
    st.integers(1, 5), st.integers(1, 6), st.one_of(st.none(), st.integers(1, 30)), st.booleans()
)
def test_units_are_the_fits(folds, seeds, together, stacking):
    """Every fit is in one unit, no unit is too large, and units come in order."""
    model = "npf-tri-1" if stacking else "svm"
    pairs = tuple(range(folds)), tuple(range(seeds))
    sweep = Sweep(
        tasks=("colocated",), models=(model,), folds=pairs[0], seeds=pairs[1], together=together
    )
    units = Manifest("", (sweep,)).units()
    assert [fit for unit in units for fit in unit.fits] == list(product(*pairs))
    assert max(len(unit.fits) for unit in units) <= ((together or seeds) if stacking else 1)


def test_which_models_stack(rng):
    """The stores of the models say the same."""
    for name in models.names():
        model = models.make(name)
        clouds = [rng.normal(size=(48, 3)), rng.normal(size=(48, 3))]
        if hasattr(model, "adapt"):
            model.adapt(clouds)
        store = hasattr(model, "make_store") and model.make_store(model.prepare(clouds))
        assert stackable(name) == getattr(store, "stackable", False), name


# --- shipped manifests ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "tasks", "rows", "fits"),
    [
        ("synthetic-primary", 8, 42, 1050),
        ("synthetic-screen", 5, 512, 12_800),
        ("pdo-primary", 3, 42, 1050),
        ("pdo-screen", 3, 512, 12_800),
        ("synthetic-quick", 2, 24, 48),
    ],
)
def test_counts_of_the_paper(name, tasks, rows, fits):
    manifest = read_manifest(name)
    count = {}
    for row in manifest.rows():
        count[row.task] = count.get(row.task, 0) + 1
    assert list(count.values()) == [rows] * tasks
    assert manifest.fits == tasks * fits


def test_all_sweeps_of_the_paper_together():
    names = ("synthetic-primary", "synthetic-screen", "pdo-primary", "pdo-screen")
    manifests = [read_manifest(name) for name in names]
    assert sum(len(manifest.rows()) for manifest in manifests) == 4558
    assert sum(manifest.fits for manifest in manifests) == 113_950


def test_primary_rows_are_in_the_screens():
    for kind in ("synthetic", "pdo"):
        screen = set(read_manifest(f"{kind}-screen").rows())
        screened = {row.task for row in screen}
        for row in read_manifest(f"{kind}-primary").rows():
            if row.model.startswith("npf-") and row.task in screened:
                assert row in screen


def test_the_comparison_of_synthetic_tasks():
    manifest = read_manifest("synthetic")
    fits = {}
    for unit in manifest.units():
        pair = unit.row.task, unit.row.model
        fits[pair] = fits.get(pair, 0) + len(unit.fits)
    assert manifest.fits == sum(fits.values()) == 682
    # later than the paper, whose models this compares
    later = "members|cloud-classifier|composition|distances|attention-mil|deep-gin"
    wanted = [
        name for name in models.names() if not re.search(f"diag|pool|gram-2|flat-2|{later}", name)
    ]
    for task in ("circles-vs-lines", "rna-velocity"):
        assert {model for t, model in fits if t == task} == set(wanted)
        assert (fits[task, "npf-tri-1"], fits[task, "hodge"], fits[task, "pointnet"]) == (50, 5, 2)
    wedges = {"coefficients": "wedge", "rank": 6}
    assert Row("rna-velocity", "npf-tri-2", wedges) in manifest.rows()
    assert len({task for task, _ in fits}) == 8


def test_quick_is_every_model_that_is_quick():
    rows = read_manifest("synthetic-quick").rows()
    wanted = [name for name in models.names() if not re.search("diag|pool|npf-.*-2", name)]
    assert {row.model for row in rows} == set(wanted)
    assert {row.clouds for row in rows} == {120}
    for row in rows:
        assert row.options == ({"epochs": 30} if "epochs" in option_names(row.model) else {})


@pytest.mark.parametrize("name", ["equal-budget", "real"])
def test_equal_budgets_are_equal(name):
    """All point-forms together have as many rows as any other model."""
    count = Counter(
        (row.task, "point-forms" if row.model.startswith("npf-") else row.model)
        for row in read_manifest(name).rows()
    )
    for (_, method), rows in count.items():
        assert rows == (1 if method == "cloud-classifier" else 4)


def test_equal_budgets_are_those_of_every_baseline():
    rows = read_manifest("equal-budget").rows()
    baselines = {name for name in models.names() if not name.startswith("npf-")}
    assert {row.model for row in rows if not row.model.startswith("npf-")} == baselines


@pytest.mark.parametrize("name", ["equal-budget", "real"])
def test_equal_budgets_reach_the_weight_decay_of_the_registry(name):
    """No network is given only weight decays on one side of the one that was chosen for it."""
    rows = defaultdict(list)
    for row in read_manifest(name).rows():
        chosen = getattr(models.make(row.model), "weight_decay", None)
        if chosen is not None:
            rows[row.model, chosen].append(row.options.get("weight_decay", chosen))
    assert len(rows) >= 5
    for (_, chosen), tried in rows.items():
        assert min(tried) <= chosen <= max(tried)


def test_a_manifest_without_a_task():
    real = read_manifest("real")
    rows = [row for row in real.rows() if row.task != "kidney"]
    assert real.without("kidney").rows() == rows
    assert {row.task for row in rows} == set(tasks.names()) & {
        "japanese-vowels", "osteosarcoma-treatment", "osteosarcoma-line",
    }  # fmt: skip
    assert real.without(*{row.task for row in real.rows()}).sweeps == ()


def test_shipped():
    assert {"synthetic", "synthetic-quick", "synthetic-primary", "pdo-screen"} <= set(shipped())
    prepared = {f"pdo-{name}" for name in TASKS}
    assert set(tasks.names(prepared=True)) == set(tasks.names()) | prepared | {"kidney"}


def test_another_file_of_the_same_name_is_another_row(tmp_path):
    data, file = tmp_path / "cells.csv", tmp_path / "mine.toml"
    file.write_text('[[sweep]]\ntasks = ["cells.csv"]\nmodels = ["mlp"]\n')
    rows = []
    for text in ("cloud,label,x\n0,a,1\n", "cloud,label,x\n0,a,1\n", "cloud,label,x\n0,a,2\n"):
        data.write_text(text)
        rows += read_manifest(file).rows()
    assert rows[0] == rows[1] != rows[2]
    assert Row.from_key(rows[2].key) == rows[2]
    assert read_manifest("synthetic").rows()[0].content is None


def test_a_changed_default_makes_another_row(monkeypatch):
    from dataclasses import replace

    before = Row("colocated", "mlp")
    known = Row.from_key(before.key)
    mlp = models.MODELS["mlp"]
    changed = replace(mlp, options={**mlp.options, "epochs": 7})
    monkeypatch.setitem(models.MODELS, "mlp", changed)
    assert Row("colocated", "mlp") != before
    assert known == before  # a stored row stays what it was
    assert Row("colocated", "gcn") == Row.from_key(Row("colocated", "gcn").key)
    assert Row("colocated", "no-such-model").digest == ""

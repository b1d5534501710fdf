"""Manifests: what they expand to, and how bad ones are refused."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointforms import models, tasks
from pointforms.bench.manifest import Manifest, read_manifest, shipped
from pointforms.bench.records import Row
from pointforms.bench.sweep import Sweep, read_sweep
from pointforms.models.options import option_names, stackable
from pointforms.paper.organoids.prepare import TASKS


@pytest.fixture
def read(tmp_path):
    """Read a manifest from its text."""

    def read(text: str) -> Manifest:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return read_manifest(path)

    return read


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
    assert [row.task_seed for row in read(f"task_seeds = 2\n{MLP}").rows()] == [0, 1]


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


# --- refusals -------------------------------------------------------------------------------

START = '[[sweep]]\ntasks = ["colocated"]\nmodels = ["npf-tri-1"]\n'  # three lines
MLP = START.replace("npf-tri-1", "mlp")
LONG = """# a comment with [[sweep]] and "quotes"
title = '''
[[sweep]]'''
[[sweep]]
tasks = [  # the first
    "colocated", 'parallel-lines',

    # "nonsense",
    "circle-vs-lines",
]
models = ["mlp"]
"""
# What is written, where the mistake is (a line, or a path; of the first sweep if it starts with
# a dot), and what the message says.
REFUSED = {
    # TOML itself
    "no value": ("folds =\n", 1, "not TOML", "Invalid value"),
    "key twice": ("folds = 1\nseeds = 1\nfolds = 2\n", 3, "not TOML", "overwrite"),
    "no end": ('title = "x"\nfolds = [1,\n', 2, "not TOML", ""),
    "number too long": (
        f"seeds = {'9' * 5000}\n",
        "not TOML that can be read",
        "4300 digits",
        "",
    ),
    "too deep": ("x = " + "[" * 5000, "not TOML that can be read", "recursion", ""),
    # keys
    "nested key": ("x" + ".x" * 3000 + " = 1\n" + START, "x", "not a valid key", ""),
    "top key": ("\nfold = 5\n" + START, "fold", "not a valid key", "'folds'"),
    "top key of a sweep": (
        'title = "x"\nmodels = ["mlp"]\n' + START,
        "models",
        "not a valid key",
        "[[sweep]]",
    ),
    "sweep key": (START + "seed = 1\n", ".seed", "not a valid key", "'seeds'"),
    "key of second sweep": (
        START + MLP + "\nmodel = 2\n",
        "sweep[1].model",
        "not a valid key",
        "'models'",
    ),
    "option as key": (START + "epochs = 5\n", ".epochs", "not a valid key", "[sweep.options]"),
    "sub-table": (
        START + "[sweep.option]\nepochs = 3\n",
        ".option",
        "not a valid key",
        "'options'",
    ),
    "title": ("title = 3\n" + START, "title", "got 3", "text"),
    "empty": ("", "sweep", "no sweep", "[[sweep]]"),
    "no sweep": ("# nothing\nfolds = 2\n", "sweep", "no sweep", "[[sweep]]"),
    "one bracket": (
        "folds = 2\n" + START.replace("[[sweep]]", "[sweep]"),
        "sweep",
        "one table",
        "[[sw",
    ),
    "not a table": ("\nsweep = [3]\n", "sweep[0]", "got 3", "a table"),
    # tasks and models
    "task": (START.replace("colocated", "co-located"), ".tasks[0]", "'co-located'", "'colocated'"),
    "task in lines": (LONG, ".tasks[2]", "'circle-vs-lines'", "'circles-vs-lines'"),
    "task of second": (
        START + LONG[LONG.rindex("[[sweep]]") :],
        "sweep[1].tasks[2]",
        "'circle-vs-lines'",
        "'circles-vs-lines'",
    ),
    "task like nothing": (
        START.replace("colocated", "qq"),
        ".tasks[0]",
        "'qq'",
        "files end in .parq",
    ),
    "pdo": (START.replace("colocated", "pdo-epf"), ".tasks[0]", "'pdo-epf'", "'pdo-efp'"),
    "file": (START.replace("colocated", "cell.csv"), ".tasks[0]", "'cell.csv'", "'cells.csv'"),
    "no folder": (
        START.replace("colocated", "x/y.npz"),
        ".tasks[0]",
        "'x/y.npz'",
        "manifest's folder",
    ),
    "no tasks": ('\n[[sweep]]\nmodels = ["mlp"]\n', ".tasks", "missing", ""),
    "no models": ('[[sweep]]\ntasks = ["colocated"]\n', ".models", "missing", ""),
    "empty tasks": (START.replace('"colocated"', ""), ".tasks", "got []", "at least one"),
    "empty models": (START.replace('"npf-tri-1"', ""), ".models", "got []", "at least one"),
    "text for list": (START.replace('["npf-tri-1"]', '"mlp"'), ".models", 'got "mlp"', "a list"),
    "number for text": (
        START.replace('["npf-tri-1"]', '["mlp",\n 3]'),
        ".models[1]",
        "got 3",
        "text",
    ),
    "model": (START.replace("npf-tri-1", "npf-try-1"), ".models[0]", "'npf-try-1'", "'npf-tri-1'"),
    "model's case": (START.replace("npf-tri-1", "GCN"), ".models[0]", "'GCN'", "'gcn'"),
    "model like nothing": (
        START.replace("npf-tri-1", "zzz"),
        ".models[0]",
        "'zzz'",
        "expected one of 'npf-tri-1'",
    ),
    # counts
    "fold": (START + "folds = [0,\n1, 5]\n", ".folds[2]", "got 5", "at most 4"),
    "folds": (START + "folds = 6\n", ".folds", "got 6", "1 to 5"),
    "no folds": ("folds = []\n" + START, "folds", "got []", "at least one"),
    "fold twice": (START + "folds = [\n0,\n1,\n0]\n", ".folds[2]", "0 occurs twice", ""),
    "fold of text": ('folds = ["0"]\n' + START, "folds[0]", 'got "0"', "whole number"),
    "seeds": ("seeds = 0\n" + START, "seeds", "got 0", "from 1"),
    "too many seeds": (f"seeds = {10**18}\n" + START, "seeds", f"got {10**18}", "to 1000000"),
    "too many fits": (f"seeds = {10**6}\n" + START, ".seeds", "5000000 fits", "at most 1000000"),
    "too many rows": (
        f"{START}[sweep.grid]\nepochs = {[*range(1, 1001)]}\nforms = {[*range(1, 1001)]}\n",
        ".grid",
        "1000000 rows",
        "at most 10000",
    ),
    "seeds true": ("seeds = true\n" + START, "seeds", "got true", "whole number"),
    "seed twice": (START + "seeds = [1, 1]\n", ".seeds[1]", "1 occurs twice", ""),
    "negative seed": (START + "seeds = [-1]\n", ".seeds[0]", "got -1", "at least 0"),
    "clouds": (START + "clouds = 0\n", ".clouds", "got 0", "at least 1"),
    "few clouds": (START + "clouds = 19\n", ".clouds", "clouds=19", "at least 20"),
    "points": (START + "points = 2.5\n", ".points", "got 2.5", "whole number"),
    "fixed size": (
        START.replace('["colo', '["japanese-vowels", "colo') + "clouds = 40\n",
        ".clouds",
        "japanese-vowels",
        "fixed size",
    ),
    "size of a file": (
        START.replace("colocated", "cells.csv") + "points = 9\n",
        ".points",
        "cells.csv",
        "fixed size",
    ),
    "task_seed": (START + "task_seed = -1\n", ".task_seed", "got -1", "at least 0"),
    "task_seeds": ("task_seeds = [1, -1]\n" + START, "task_seeds[1]", "got -1", "at least 0"),
    "task seed twice": ("task_seeds = [1, 1]\n" + START, "task_seeds[1]", "1 occurs twice", ""),
    "no task seeds": ("task_seeds = []\n" + START, "task_seeds", "got []", "at least one"),
    "task seeds in a sweep": (
        START + "task_seeds = [1]\n",
        ".task_seeds",
        "not a valid",
        "'task_s",
    ),
    "together": (START + "together = 0\n", ".together", "got 0", "at least 1"),
    # options
    "option": (START + "[sweep.options]\nepoch = 3\n", ".options.epoch", "'epoch'", "'epochs'"),
    "inline": (
        START + "options = { forms = 4, epoch = 3 }\n",
        ".options.epoch",
        "'epoch'",
        "'epochs'",
    ),
    "dotted": (
        START + "options.forms = 4\noptions.epoch = 3\n",
        ".options.epoch",
        "'epoch'",
        "'epochs'",
    ),
    "grid": (START + "[sweep.grid]\nepoch = [3]\n", ".grid.epoch", "'epoch'", "'epochs'"),
    "of another model": (
        START.replace('"]\n', '",\n"mlp"]\n').replace('colocated",\n"mlp', "colocated")
        + '[sweep.grid]\nepochs = [3]\nbandwidth_policy = [\n"fixed"]\n',
        ".grid.bandwidth_policy",
        "mlp has no option 'bandwidth_policy'",
        "npf-tri-1 has",
    ),
    "few options": (
        START.replace("npf-tri-1", "svm") + "[sweep.options]\nC = 3\n",
        ".options.C",
        "svm",
        "expected one of 'covariance', 'frame'",
    ),
    "hodge": (
        START.replace("npf-tri-1", "hodge") + "[sweep.options]\nlandmark = 3\n",
        ".options.landmark",
        "'landmark'",
        "'landmarks'",
    ),
    "value of hodge": (
        START.replace("npf-tri-1", "hodge") + "[sweep.options]\nlandmarks = 1\n",
        ".options.landmarks",
        "landmarks=1",
        "at least 2",
    ),
    "value of random forms": (
        START.replace("npf-tri-1", "random-forms") + "[sweep.options]\nneighbors = 1\n",
        ".options.neighbors",
        "neighbors=1",
        "at least 2",
    ),
    "choice": (
        START + '[sweep.grid]\nbandwidth_policy = [\n  "variable",\n  "fixd",\n]\n',
        ".grid.bandwidth_policy[1]",
        'bandwidth_policy = "fixd"',
        "'fixed'",
    ),
    "kind": (
        START + '[sweep.options]\nepochs = "30"\n',
        ".options.epochs",
        'epochs = "30"',
        "a whole number",
    ),
    "kind, bool": (
        START + "[sweep.options]\nforms = true\n",
        ".options.forms",
        "forms = true",
        "a whole number",
    ),
    "not finite": (
        START + "[sweep.options]\nbandwidth = inf\n",
        ".options.bandwidth",
        "Infinity",
        "a number",
    ),
    "a date": (
        START + "[sweep.options]\nforms = 1979-05-27 07:32:00\n",
        ".options.forms",
        "forms = ",
        "whole",
    ),
    "flat widths": (
        START + "[sweep.grid]\nhidden = [\n[64, 64], # two\n32]\n",
        ".grid.hidden[1]",
        "hidden = 32",
        "a list",
    ),
    "value": (
        START + "[sweep.grid]\nneighbors = [32,\n16,\n1]\n",
        ".grid.neighbors[2]",
        "neighbors=1",
        "at least 2",
    ),
    "value of training": (
        START + "[sweep.options]\nepochs = 0\n",
        ".options.epochs",
        "epochs=0",
        "at least 1",
    ),
    "learning rate": (
        START + "[sweep.grid]\nlearning_rate = [1e-3,\n-1e-3]\n",
        ".grid.learning_rate[1]",
        "learning_rate=-0.001",
        "a finite number above 0",
    ),
    "width": (
        START + "[sweep.options]\nhidden = [8, 0]\n",
        ".options.hidden",
        "hidden=[8, 0]",
        "a sequence, each item a whole number of at least 1",
    ),
    "weight decay": (
        START + "[sweep.options]\nweight_decay = -1\n",
        ".options.weight_decay",
        "-1.0",
        "at least 0",
    ),
    "empty grid": (
        START + "[sweep.grid]\nforms = []\n",
        ".grid.forms",
        "got []",
        "at least one value",
    ),
    "not a list": (START + "[sweep.grid]\nforms = 8\n", ".grid.forms", "got 8", "a list"),
    "grid of grids": (START + "[[sweep.grid]]\nforms = [8]\n", ".grid", "got [", "a table"),
    "options and grid": (
        START + "[sweep.options]\nforms = 8\n[sweep.grid]\nforms = [8, 16]\n",
        ".grid.forms",
        "forms",
        "already",
    ),
    "second options": (
        START + "[sweep.options]\nforms = 8\n" + MLP + "[sweep.options]\nforms = 8\n",
        "sweep[1].options.forms",
        "mlp has no option 'forms'",
        "",
    ),
    "part of the name": (
        START + '[sweep.options]\nreadout = "flat"\n',
        ".options.readout",
        "readout is part",
        "another model",
    ),
    "a network's name": (
        MLP + '[sweep.options]\nnetwork = "gcn"\n',
        ".options.network",
        "network",
        "the name mlp",
    ),
    **{
        f"cannot be set: {name}": (
            f"{START}[sweep.options]\nforms = 4\n{name} = 1\n",
            f".options.{name}",
            name,
            "cannot be set in a manifest",
        )
        for name in ("random_state", "progress", "device", "n_jobs", "cache")
    },
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case, read, tmp_path):
    text, where, written, expected = REFUSED[case]
    (tmp_path / "cells.csv").touch()
    with pytest.raises(ValueError) as caught:
        read(text)
    message = str(caught.value)
    place = (
        f", line {where}" if isinstance(where, int) else f": {where}".replace(": .", ": sweep[0].")
    )
    assert message.startswith(f"{tmp_path / 'mine.toml'}{place}: "), message
    assert written in message
    assert expected in message
    assert "\n" not in message


def test_long_lists_are_checked_in_no_time(read):
    """A check that compares every seed with all before it would take minutes here."""
    assert read(START + f"folds = 1\nseeds = {10**5}\n").fits == 10**5


@pytest.mark.parametrize("content", [None, 3, "colocated", ["tasks"], {1}])
def test_a_sweep_is_a_mapping(content):
    with pytest.raises(
        TypeError, match=rf"the sweep is {re.escape(repr(content))}: expected a map"
    ):
        read_sweep(content)


def test_messages_show_the_beginning_of_a_long_value(read):
    with pytest.raises(ValueError, match=r'tasks: expected a list, got "a{199}…$'):
        read(START.replace('["colocated"]', f'"{"a" * 10**5}"'))


def test_lines_that_end_as_on_windows(tmp_path):
    (tmp_path / "mine.toml").write_bytes(LONG.replace("\n", "\r\n").encode())
    with pytest.raises(ValueError, match=r"tasks\[2\]: no task 'circle-vs-lines'"):
        read_manifest(tmp_path / "mine.toml")


def test_not_text(tmp_path):
    (tmp_path / "mine.toml").write_bytes(b"folds = 2\ntitle = '\xff'\n")
    with pytest.raises(ValueError, match=r"mine.toml, line 2: not UTF-8"):
        read_manifest(tmp_path / "mine.toml")


def test_no_such_manifest(tmp_path):
    with pytest.raises(ValueError, match=r"no manifest 'synthetic-quik': .*'synthetic-quick'"):
        read_manifest("synthetic-quik")
    with pytest.raises(ValueError, match=r"no manifest .*screens.toml': .*-screen'"):
        read_manifest(tmp_path / "pdo-screens.toml")


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

"""How manifests with mistakes are refused."""

from __future__ import annotations

import re

import pytest

from pointforms.bench.manifest import read_manifest
from pointforms.bench.sweep import read_sweep

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
        "no files of points",
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
    "an option of another library": (
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

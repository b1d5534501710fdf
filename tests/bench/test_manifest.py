"""Manifests: what they expand to, and how bad ones are refused."""

from __future__ import annotations

import re
import tomllib
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointforms import models, tasks
from pointforms.bench.manifest import Manifest, read_manifest, shipped
from pointforms.bench.records import Row
from pointforms.bench.sweep import Sweep
from pointforms.bench.toml_lines import line_of, toml_lines
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
        ("colocated",), (model,), tuple(range(folds)), tuple(range(seeds)), together=together
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
    sweep = Sweep(("colocated",), (model,), *pairs, together=together)
    units = Manifest("", (sweep,)).units()
    assert [fit for unit in units for fit in unit.fits] == list(product(*pairs))
    assert max(len(unit.fits) for unit in units) <= ((together or seeds) if stacking else 1)


def test_which_models_stack(rng):
    """The stores of the models say the same."""
    for name in models.names():
        model = models.make(name)
        store = hasattr(model, "make_store") and model.make_store(
            model.prepare([rng.normal(size=(48, 3))])
        )
        assert stackable(name) == getattr(store, "stackable", False), name


# --- shipped manifests ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "tasks", "rows", "fits"),
    [
        ("synthetic-primary", 8, 42, 1050),
        ("synthetic-screen", 5, 512, 12_800),
        ("pdo-primary", 3, 42, 1050),
        ("pdo-screen", 3, 512, 12_800),
        ("synthetic-quick", 2, 18, 36),
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
    wanted = [name for name in models.names() if not re.search("diag|pool|gram-2|flat-2", name)]
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


def test_shipped():
    assert {"synthetic", "synthetic-quick", "synthetic-primary", "pdo-screen"} <= set(shipped())
    prepared = {f"pdo-{name}" for name in TASKS}
    assert set(tasks.names(prepared=True)) == set(tasks.names()) | prepared


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
REFUSED = {
    # TOML itself
    "no value": ("folds =\n", 1, "not TOML", "Invalid value"),
    "key twice": ("folds = 1\nseeds = 1\nfolds = 2\n", 3, "not TOML", "overwrite"),
    "no end": ('title = "x"\nfolds = [1,\n', 2, "not TOML", ""),
    # keys
    "top key": ("\nfold = 5\n" + START, 2, "'fold'", "'folds'"),
    "top key of a sweep": ('title = "x"\nmodels = ["mlp"]\n' + START, 2, "'models'", "[[sweep]]"),
    "sweep key": (START + "seed = 1\n", 4, "'seed'", "'seeds'"),
    "key of second sweep": (START + MLP + "\nmodel = 2\n", 8, "'model'", "'models'"),
    "option as key": (START + "epochs = 5\n", 4, "'epochs'", "[sweep.options]"),
    "sub-table": (START + "[sweep.option]\nepochs = 3\n", 4, "'option'", "'options'"),
    "title": ("title = 3\n" + START, 1, "title = 3", "text"),
    "empty": ("", 1, "no sweep", "[[sweep]]"),
    "no sweep": ("# nothing\nfolds = 2\n", 1, "no sweep", "[[sweep]]"),
    "one bracket": ("folds = 2\n" + START.replace("[[sweep]]", "[sweep]"), 2, "one table", "[[sw"),
    "not a table": ("\nsweep = [3]\n", 2, "sweep = 3", "[[sweep]]"),
    # tasks and models
    "task": (START.replace("colocated", "co-located"), 2, "'co-located'", "'colocated'"),
    "task in lines": (LONG, 9, "'circle-vs-lines'", "'circles-vs-lines'"),
    "task of second": (
        START + LONG[LONG.rindex("[[sweep]]") :], 9, "'circle-vs-lines'", "'circles-vs-lines'",
    ),
    "task like nothing": (START.replace("colocated", "qq"), 2, "'qq'", "files end in .parq"),
    "pdo": (START.replace("colocated", "pdo-epf"), 2, "'pdo-epf'", "'pdo-efp'"),
    "file": (START.replace("colocated", "cell.csv"), 2, "'cell.csv'", "'cells.csv'"),
    "no folder": (START.replace("colocated", "x/y.npz"), 2, "'x/y.npz'", "manifest's folder"),
    "no tasks": ('\n[[sweep]]\nmodels = ["mlp"]\n', 2, "needs tasks", ""),
    "no models": ('[[sweep]]\ntasks = ["colocated"]\n', 1, "needs models", ""),
    "empty tasks": (START.replace('"colocated"', ""), 2, "tasks = []", "at least one"),
    "empty models": (START.replace('"npf-tri-1"', ""), 3, "models = []", "at least one"),
    "text for list": (START.replace('["npf-tri-1"]', '"mlp"'), 3, 'models = "mlp"', "a list"),
    "number for text": (START.replace('["npf-tri-1"]', '["mlp",\n 3]'), 4, "3 in models", "text"),
    "model": (START.replace("npf-tri-1", "npf-try-1"), 3, "'npf-try-1'", "'npf-tri-1'"),
    "model's case": (START.replace("npf-tri-1", "GCN"), 3, "'GCN'", "'gcn'"),
    "model like nothing": (START.replace("npf-tri-1", "zzz"), 3, "'zzz'", "of 'npf-tri-1'"),
    # counts
    "fold": (START + "folds = [0,\n1, 5]\n", 5, "= 5", "0 to 4"),
    "folds": (START + "folds = 6\n", 4, "folds = 6", "1 to 5"),
    "no folds": ("folds = []\n" + START, 1, "folds = []", "at least one"),
    "fold twice": (START + "folds = [\n0,\n1,\n0]\n", 7, "0 twice", ""),
    "fold of text": ('folds = ["0"]\n' + START, 1, '= "0"', "whole number"),
    "seeds": ("seeds = 0\n" + START, 1, "seeds = 0", "at least 1"),
    "seeds true": ("seeds = true\n" + START, 1, "seeds = true", "whole number"),
    "seed twice": (START + "seeds = [1, 1]\n", 4, "1 twice", ""),
    "negative seed": (START + "seeds = [-1]\n", 4, "= -1", "0 to"),
    "clouds": (START + "clouds = 0\n", 4, "clouds = 0", "at least 1"),
    "few clouds": (START + "clouds = 19\n", 4, "clouds=19", "at least 20"),
    "points": (START + "points = 2.5\n", 4, "points = 2.5", "whole number"),
    "fixed size": (
        START.replace('["colo', '["japanese-vowels", "colo') + "clouds = 40\n",
        4,
        "japanese-vowels",
        "fixed size",
    ),
    "size of a file": (
        START.replace("colocated", "cells.csv") + "points = 9\n", 4, "cells.csv", "fixed size",
    ),
    "task_seed": (START + "task_seed = -1\n", 4, "task_seed = -1", "at least 0"),
    "together": (START + "together = 0\n", 4, "together = 0", "at least 1"),
    # options
    "option": (START + "[sweep.options]\nepoch = 3\n", 5, "'epoch'", "'epochs'"),
    "inline": (START + "options = { forms = 4, epoch = 3 }\n", 4, "'epoch'", "'epochs'"),
    "dotted": (START + "options.forms = 4\noptions.epoch = 3\n", 5, "'epoch'", "'epochs'"),
    "grid": (START + "[sweep.grid]\nepoch = [3]\n", 5, "'epoch'", "'epochs'"),
    "of another model": (
        START.replace('"]\n', '",\n"mlp"]\n').replace('colocated",\n"mlp', "colocated")
        + '[sweep.grid]\nepochs = [3]\nbandwidth_policy = [\n"fixed"]\n',
        7, "mlp has no option 'bandwidth_policy'", "npf-tri-1 has",
    ),
    "no option at all": (
        START.replace("npf-tri-1", "svm") + "[sweep.options]\nC = 3\n", 5, "svm", "none at all",
    ),
    "hodge": (
        START.replace("npf-tri-1", "hodge") + "[sweep.options]\nlandmark = 3\n",
        5, "'landmark'", "'landmarks'",
    ),
    "value of hodge": (
        START.replace("npf-tri-1", "hodge") + "[sweep.options]\nlandmarks = 1\n",
        5, "landmarks=1", "at least 2",
    ),
    "value of random forms": (
        START.replace("npf-tri-1", "random-forms") + "[sweep.options]\nneighbors = 1\n",
        5, "neighbors=1", "at least 2",
    ),
    "choice": (
        START + '[sweep.grid]\nbandwidth_policy = [\n  "variable",\n  "fixd",\n]\n',
        7, 'bandwidth_policy = "fixd"', "'fixed'",
    ),
    "kind": (START + '[sweep.options]\nepochs = "30"\n', 5, 'epochs = "30"', "a whole number"),
    "kind, bool": (START + "[sweep.options]\nforms = true\n", 5, "forms = true", "a whole number"),
    "not finite": (START + "[sweep.options]\nbandwidth = inf\n", 5, "Infinity", "a number"),
    "a date": (START + "[sweep.options]\nforms = 1979-05-27 07:32:00\n", 5, "forms = ", "whole"),
    "flat widths": (
        START + "[sweep.grid]\nhidden = [\n[64, 64], # two\n32]\n", 7, "hidden = 32", "a list",
    ),
    "value": (START + "[sweep.grid]\nneighbors = [32,\n16,\n1]\n", 7, "neighbors=1", "at least 2"),
    "value of training": (START + "[sweep.options]\nepochs = 0\n", 5, "epochs=0", "at least 1"),
    "learning rate": (
        START + "[sweep.grid]\nlearning_rate = [1e-3,\n-1e-3]\n", 6, "-0.001", "more than 0",
    ),
    "width": (START + "[sweep.options]\nhidden = [8, 0]\n", 5, "hidden = [8, 0]", "more than 0"),
    "weight decay": (START + "[sweep.options]\nweight_decay = -1\n", 5, "-1.0", "at least 0"),
    "empty grid": (START + "[sweep.grid]\nforms = []\n", 5, "forms = []", "at least one value"),
    "not a list": (START + "[sweep.grid]\nforms = 8\n", 5, "forms = 8", "a list"),
    "grid of grids": (START + "[[sweep.grid]]\nforms = [8]\n", 4, "grid = ", "[sweep.grid]"),
    "options and grid": (
        START + "[sweep.options]\nforms = 8\n[sweep.grid]\nforms = [8, 16]\n",
        7, "forms", "already",
    ),
    "second options": (
        START + "[sweep.options]\nforms = 8\n" + MLP + "[sweep.options]\nforms = 8\n",
        10, "mlp has no option 'forms'", "",
    ),
    "part of the name": (
        START + '[sweep.options]\nreadout = "flat"\n', 5, "readout is part", "another model",
    ),
    "a network's name": (MLP + '[sweep.options]\nnetwork = "gcn"\n', 5, "network", "the name mlp"),
    **{
        f"not for a manifest: {name}": (
            f"{START}[sweep.options]\nforms = 4\n{name} = 1\n", 6, name, "not for a manifest",
        )
        for name in ("random_state", "progress", "device", "n_jobs", "cache")
    },
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case, read, tmp_path):
    text, line, written, expected = REFUSED[case]
    (tmp_path / "cells.csv").touch()
    with pytest.raises(ValueError) as caught:
        read(text)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'mine.toml'}, line {line}: "), message
    assert written in message
    assert expected in message
    assert "\n" not in message


def test_lines_that_end_as_on_windows(tmp_path):
    (tmp_path / "mine.toml").write_bytes(LONG.replace("\n", "\r\n").encode())
    with pytest.raises(ValueError, match="line 9: no task 'circle-vs-lines'"):
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


# --- lines ----------------------------------------------------------------------------------


def texts(content, path=()):
    """Paths and texts of everything in what tomllib returns."""
    if isinstance(content, str):
        yield path, content
    elif isinstance(content, dict | list):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        for key, item in items:
            yield from texts(item, (*path, key))


_COUNTED = re.compile(r"@\d+@")


@st.composite
def documents(draw) -> str:
    """TOML in which every text has a number of its own."""
    count = iter(range(10_000))
    gap = st.sampled_from(["", " ", "\n", "\n\n\t", " # [[x]] \"a = {', '''\n", "\n#]\n  "])

    def text() -> str:
        quoted = draw(
            st.sampled_from(
                [
                    '"{}"',
                    "'{}'",
                    '"\\"{} # ]"',
                    "'[{}\"'",
                    '"""{}"\n"""',
                    "'''{}''\n'''",
                    '"{}\\\\"',
                ]
            )
        )
        return quoted.format(f"@{next(count)}@")

    def array(depth: int) -> str:
        items = [value(depth - 1) for _ in range(draw(st.integers(0, 3)))]
        body = "".join(draw(gap) + item + draw(gap) + "," for item in items)
        last = draw(st.booleans())  # a comma behind the last item
        return "[" + (body if last else body.removesuffix(",")) + draw(gap) + "]"

    def inline(depth: int) -> str:
        pairs = [f"{key} = {value(depth - 1)}" for key in draw(keys)]
        return "{ " + ", ".join(pairs) + " }"

    def value(depth: int) -> str:
        kinds = [
            text,
            lambda: draw(st.sampled_from(["1", "-2.5e3", "true", "1979-05-27 07:32:00"])),
        ]
        if depth > 0:
            kinds += [lambda: array(depth), lambda: inline(depth)]
        return draw(st.sampled_from(kinds))()

    keys = st.lists(
        st.sampled_from(["a", "b-c", '"d.e = ["', "'f#'", "g.h", 'i . "j"']),
        max_size=3,
        unique=True,
    )
    comment = st.sampled_from(["", "  # it's \"fine", "\n"])

    def pairs() -> str:
        return "".join(f"{key} = {value(3)}{draw(comment)}\n" for key in draw(keys))

    parts = [pairs()]
    for _ in range(draw(st.integers(0, 3))):
        parts.append(f"[[sweep]]{draw(comment)}\n{pairs()}")
        if draw(st.booleans()):
            parts.append(f"  [ sweep . grid ]\n{pairs()}")
        if draw(st.booleans()):
            parts.append(f"[[sweep.inner]]\n{pairs()}[[sweep.inner]]\n{pairs()}")
    parts.append(f"['last one'.x]\n{pairs()}")
    return "\n".join(parts)


@settings(max_examples=150, deadline=None)
@given(documents())
def test_every_text_is_on_its_line(document):
    """Texts are numbered, so the line that is found must have the number."""
    content = tomllib.loads(document)
    lines, rows = toml_lines(document), document.split("\n")
    for path, text in texts(content):
        number = _COUNTED.search(text).group()
        place = next(i for i, row in enumerate(rows, 1) if number in row)
        assert lines[path] == place


def test_lines_of_what_is_not_there():
    lines = toml_lines(START + "\n" + MLP)
    assert line_of(lines, ("sweep", 1, "grid", "forms", 2)) == 5
    assert line_of(lines, ("sweep", 0, "models", 0)) == 3
    assert line_of(lines, ("seeds",)) == 1


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

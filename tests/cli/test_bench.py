"""`npf run`, `sweep`, `plan`, `status`, `table`, `export`, `import`, `memory`, `reproduce`."""

from __future__ import annotations

import csv
import os
import re

import pytest
from typer.testing import CliRunner

from pointforms.bench.fitting import failed, fit_unit, prepare
from pointforms.bench.manifest import read_manifest
from pointforms.bench.records import Row
from pointforms.bench.store import Store
from pointforms.cli import bench as command
from pointforms.cli.app import app

MANIFEST = """
title = "Small"
folds = 2
[[sweep]]
tasks = ["circles-vs-lines"]
models = ["npf-tri-1", "mlp"]
clouds = 40
points = 24
[sweep.options]
epochs = 1
"""


def npf(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def ok(*arguments):
    result = npf(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


class Here:
    """The local engine without processes; fits of the models in `broken` fail."""

    name = "local"
    broken: tuple[str, ...] = ()

    def __init__(self, workers, devices=()):
        self.workers = len(devices) or workers

    def run(self, take):
        while (unit := take()) is not None:
            if unit.row.model in self.broken:
                yield unit, failed(unit, "Traceback:\nOSError: [broken] pieces")
            else:
                yield unit, fit_unit(unit, prepare(unit))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, and wide tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "LocalEngine", Here)
    return tmp_path


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store with the fits of the manifest."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "small.toml").write_text(MANIFEST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "LocalEngine", Here)
        ok("sweep", folder / "small.toml", "--store", folder / "results.db")
    return folder / "results.db"


def test_plan_counts_rows_and_fits(filled):
    found = ok("plan", "synthetic-primary")
    assert "336 rows, 8400 fits" in found
    assert "with 2 workers" in found
    manifest = filled.with_name("small.toml")
    assert "2 rows, 4 fits, of which 4 are left" in ok("plan", manifest, "--workers", "1")
    assert "4 fits, of which 0 are left" in ok("plan", manifest, "--store", filled)


def test_sweep_trains_once_and_prints_a_table(folder):
    (folder / "small.toml").write_text(MANIFEST)
    first = ok("sweep", "small.toml")
    assert "4 fits trained" in first
    assert "0 failed, 0 were there" in first
    assert str(folder / "results.db") in first
    for shown in ("circles-vs-lines", "NPF (selected)", "MLP"):
        assert shown in first
    assert "0 fits trained" in ok("sweep", "small.toml", "--workers", "2", "--devices", "cpu,cpu")
    assert sorted(os.listdir()) == ["results.db", "results.db.log", "small.toml"]


def test_failed_fits_are_told_and_tried_again(folder, monkeypatch):
    (folder / "small.toml").write_text(MANIFEST)
    monkeypatch.setattr(Here, "broken", ("mlp",))
    result = npf("sweep", "small.toml")
    assert result.exit_code == 0
    assert "4 fits trained" in result.stdout
    assert "2 failed" in result.stdout
    assert "2 fits failed; the first:\nTraceback:\nOSError: [broken] pieces" in result.stderr
    assert "failed 2 times: OSError: [broken] pieces" in ok("status", "results.db")
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(command, "LocalEngine", Here)
    assert "0 fits trained" in ok("sweep", "small.toml")
    assert "2 fits trained" in ok("sweep", "small.toml", "--retry")


def test_run_fits_models_with_options():
    found = ok(
        "run", "circles-vs-lines", "npf-tri-1", "npf-flat-1", "--folds", "1", "--seeds", "2",
        "--clouds", "40", "--points", "24", "--set", "epochs=1", "--set", "hidden=[8]",
        "--set", "measure=volume", "--store", "mine.db",
    )  # fmt: skip
    assert "4 fits trained" in found
    with Store("mine.db", create=False) as store:
        records = store.records()
    options = {"epochs": 1, "hidden": [8], "measure": "volume"}
    assert {r.row for r in records} == {
        Row("circles-vs-lines", model, options, 40, 24) for model in ("npf-tri-1", "npf-flat-1")
    }
    assert sorted({(r.fold, r.seed) for r in records}) == [(0, 0), (0, 1)]
    assert not any(r.error for r in records)


def test_status_tells_what_there_is(filled):
    found = ok("status", filled)
    assert "4 fits" in found
    assert "run 1 (Small): ended, local" in found
    assert "in flight: 0 fits" in found
    assert "npf-tri-1 {'epochs': 1} fold/seed 1/0: AUROC" in found
    assert "AUROC" not in ok("status", filled, "--log", "0")


def test_status_reads_the_log_of_a_run_that_was_killed_while_writing(folder):
    Store("results.db").close()
    (folder / "results.db.log").write_bytes("2026-01-01 é".encode()[:-1])
    assert "0 fits" in ok("status", "results.db")


@pytest.mark.parametrize(
    ("format", "sign"),
    [
        ("terminal", r"circles-vs-lines"),
        ("markdown", r"\|[ :-]+\|"),
        ("latex", r"\\begin\{tabular\}"),
        ("csv", r"(?m)^[^\n]*,[^\n]*MLP|MLP,"),
    ],
)
def test_tables_in_every_format(filled, folder, format, sign):
    found = ok("table", filled, "--format", format)
    assert re.search(sign, found)
    assert "MLP" in found
    ok("table", filled, "--format", format, "--every")
    ok("table", filled, "--format", format, "--costs")
    assert str(folder / "table.txt") in ok(
        "table", filled, "--format", format, "--out", "table.txt"
    )
    assert "MLP" in (folder / "table.txt").read_text()


def test_a_task_that_is_not_there_has_no_table(filled):
    assert "MLP" in ok("table", filled, "--task", "circles-vs-lines")
    result = npf("table", filled, "--task", "colocated")
    assert result.exit_code == 2
    assert "no fits of 'colocated'" in result.stderr


def test_exported_fits_are_imported_and_not_trained_again(filled, folder):
    assert "4 fits" in ok("export", filled, "fits.csv")
    with open("fits.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 4
    assert "4 fits, 4 of them new" in ok("import", "fits.csv", "--store", "new.db")
    assert "4 fits, 0 of them new" in ok("import", "fits.csv", "--store", "new.db")
    manifest = filled.with_name("small.toml")
    assert "0 fits trained" in ok("sweep", manifest, "--store", "new.db")
    shown = ok("table", filled, "--format", "markdown")
    assert ok("table", "new.db", "--format", "markdown") == shown


def test_fits_on_a_file_are_those_of_its_content(folder):
    sizes = ["--clouds", "40", "--points", "24"]
    ok("tasks", "write", "circles-vs-lines", "mine.npz", *sizes)
    fit = ["run", "mine.npz", "mlp", "--folds", "1", "--set", "epochs=1", "--store"]
    assert "1 fits trained" in ok(*fit, "a.db")
    ok("export", "a.db", "fits.csv")
    ok("import", "fits.csv", "--store", "b.db")
    assert "0 fits trained" in ok(*fit, "b.db")
    ok("tasks", "write", "colocated", "mine.npz", *sizes)
    assert "1 fits trained" in ok(*fit, "b.db")


def test_a_wrong_csv_makes_no_store(folder):
    (folder / "fits.csv").write_text("task,model,fold,seed,auroc\na,mlp,0,0,0.5\na,mlp,x,0,0.5\n")
    result = npf("import", "fits.csv")
    assert result.exit_code == 2
    assert "fits.csv, line 3: fold is 'x'" in result.stderr
    assert os.listdir() == ["fits.csv"]
    with Store("there.db") as store:
        assert npf("import", "fits.csv", "--store", "there.db").exit_code == 2
        assert store.keys() == frozenset()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("npf-tri-1", "npf-try-1", "line 6: no model 'npf-try-1': did you mean 'npf-tri-1'?"),
        ("vs-lines", "vs-line", "line 5: no task 'circles-vs-line': did you mean"),
        ("epochs = 1", "epoch = 1", "line 10: npf-tri-1 has no option 'epoch': did you mean"),
        ("epochs = 1", "epochs = 'many'", 'line 10: epochs = "many": expected a whole number'),
        ("folds = 2", "fold = 2", "line 3: 'fold' is nothing at the top of a manifest: did you"),
        ("folds = 2", "folds = ", "line 3: not TOML"),
    ],
)
@pytest.mark.parametrize("name", ["sweep", "plan"])
def test_a_wrong_manifest_is_explained_and_makes_no_store(folder, name, old, new, message):
    (folder / "small.toml").write_text(MANIFEST.replace(old, new))
    result = npf(name, "small.toml")
    assert result.exit_code == 2
    assert f"npf {name}: small.toml, {message}" in result.stderr
    assert "Traceback" not in result.output
    assert os.listdir() == ["small.toml"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep", "synthetik"], "no manifest 'synthetik': did you mean 'synthetic'?"),
        (["run", "circles", "mlp"], "no task 'circles'"),
        (["run", "colocated", "mpl"], "no model 'mpl': did you mean 'mlp'?"),
        (["run", "colocated", "mlp", "--set", "epochs"], "--set 'epochs': expected NAME=VALUE"),
        (["run", "colocated", "mlp", "--set", "epochs=-1"], "epochs"),
        (["run", "colocated", "mlp", "--clouds", "3"], "clouds = 3: expected at least"),
        (["run", "colocated", "mlp", "--devices", "gpu0"], "--devices gpu0"),
        (["run", "colocated", "mlp", "--devices", "cpu,"], "--devices cpu,"),
        (["run", "colocated", "mlp", "--address", "auto"], "--engine ray"),
        (["run", "colocated", "mlp", "--store", "no/where.db"], "no folder 'no'"),
        (["status", "absent.db"], "no store 'absent.db'"),
        (["table", "absent.db"], "no store 'absent.db'"),
        (["export", "absent.db", "fits.csv"], "no store 'absent.db'"),
        (["plan", "synthetic", "--store", "absent.db"], "no store 'absent.db'"),
        (["import", "absent.csv"], "absent.csv"),
        (["memory", "squares"], "no task 'squares'"),
    ],
)
def test_mistakes_are_explained_and_leave_nothing(arguments, message):
    result = npf(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert f"npf {arguments[0]}:" in result.stderr
    assert "Traceback" not in result.output
    assert os.listdir() == []


def test_memory_has_a_line_a_degree():
    found = ok("memory", "circles-vs-lines", "--format", "csv")
    lines = [line for line in csv.reader(found.splitlines()) if line]
    assert [line[:1] for line in lines[1:]] == [["circles-vs-lines"]] * 4  # k = 0, 1, 2, 3
    assert {len(line) for line in lines} == {len(lines[0])}


def test_reproduce_writes_tables_and_fits(folder, monkeypatch):
    (folder / "small.toml").write_text(MANIFEST)
    asked = []

    def small(name):
        asked.append(name)
        return read_manifest("small.toml")

    monkeypatch.setattr(command, "read_manifest", small)
    found = ok("reproduce", "synthetic", "--quick", "--out", "made/here")
    assert asked == ["synthetic-quick"]
    made = folder / "made" / "here"
    page = (made / "synthetic-quick.md").read_text()
    assert page.startswith("# synthetic-quick\n\n4 of 4 fits, 0 of them failed.")
    assert "NPF (selected)" in page
    with open(made / "synthetic-quick-fits.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 4
    assert str(made / "synthetic-quick.md") in found
    assert "0 fits trained" in ok("reproduce", "synthetic", "--quick", "--out", "made/here")

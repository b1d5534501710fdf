"""Fits of a file stay those of the file where it moves, and not where its content changes."""

from __future__ import annotations

import shutil

import pytest

from pointforms.bench.comparison import compare
from pointforms.bench.costs import costs_table
from pointforms.bench.manifest import Manifest
from pointforms.bench.records import Record
from pointforms.bench.store import Store
from pointforms.bench.stored_files import follow_files, stored_files
from pointforms.bench.sweep import read_sweep
from pointforms.tasks import load, write


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "before" / "cells.csv"
    path.parent.mkdir()
    write(load("colocated", clouds=20, points=8), path)
    return path


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.db") as made:
        yield made


def manifest(path, models=("mlp", "gcn"), **content) -> Manifest:
    return Manifest("", (read_sweep({"tasks": [str(path)], "models": list(models), **content}),))


def fill(store, manifest):
    for unit in manifest.units():
        store.finish(None, [Record(unit.row, *fit, auroc=0.5) for fit in unit.fits])


def wanted(manifest):
    return {(unit.row.key, *fit) for unit in manifest.units() for fit in unit.fits}


def test_fits_follow_a_file_that_moves_all_models_of_it(file, store, tmp_path):
    fill(store, manifest(file))
    after = tmp_path / "renamed.csv"
    file.rename(after)
    moved = manifest(after, ["mlp"])
    [note] = follow_files(store, moved.rows())
    assert note.startswith(f"renamed.csv: the store has fits of the same content at {str(file)!r}")
    assert note.endswith("(10)")
    assert store.keys() == wanted(manifest(after))  # also of the model that is not asked for
    assert store.records(task=str(after))[0].auroc == 0.5
    assert follow_files(store, moved.rows()) == ()


def test_a_copy_is_another_task_as_long_as_the_first_is_there(file, store, tmp_path):
    fill(store, manifest(file))
    copy = shutil.copy(file, tmp_path / "copy.csv")
    before = store.keys()
    assert follow_files(store, manifest(copy).rows()) == ()
    assert store.keys() == before


def test_fits_that_the_new_path_has_already_stay(file, store, tmp_path):
    fill(store, manifest(file))
    copy = shutil.copy(file, tmp_path / "copy.csv")
    [first, *_] = manifest(copy).units()
    store.finish(None, [Record(first.row, *fit, auroc=0.9) for fit in first.fits])
    file.unlink()
    follow_files(store, manifest(copy).rows())
    scores = {(r.row.key, r.fold, r.seed): r.auroc for r in store.records(task=str(copy))}
    assert scores.keys() == wanted(manifest(copy))
    assert {scores[first.row.key, *fit] for fit in first.fits} == {0.9}


def test_a_plan_counts_them_without_writing(file, store, tmp_path):
    fill(store, manifest(file))
    file.rename(tmp_path / "moved.csv")
    before = store.keys()
    moved = manifest(tmp_path / "moved.csv")
    found = stored_files(moved.rows(), before)
    assert found.keys(before) == wanted(moved)
    row = next(iter(found.moved.values()))
    old = {record.row.key: record.row for record in store.records()}
    assert row in found.rows({old[key]: (1, 2.0) for key in found.moved})
    assert store.keys() == before


def test_a_file_that_changes_is_another_task_and_is_named(file, store):
    fill(store, manifest(file))
    file.write_text(file.read_text().replace("arcs", "bows"))
    changed = manifest(file)
    [note] = follow_files(store, changed.rows())
    assert note.startswith("cells.csv has changed: fits of its former content do not count (10)")
    assert not store.keys() & wanted(changed)
    fill(store, changed)
    records = store.records()
    titles = {one.title for one in compare(records)}
    contents = {record.row.content for record in records}
    assert titles == {f"cells.csv (content {content[-8:]})" for content in contents}
    assert {row["task"] for row in costs_table(records).rows} == titles


def test_a_table_of_samples_may_move_too(file, store, tmp_path):
    samples = tmp_path / "samples.csv"
    names = sorted({line.split(",")[0] for line in file.read_text().splitlines()[1:]})
    samples.write_text("cloud,site\n" + "".join(f"{name},a\n" for name in names))
    fill(store, manifest(file, reading={"samples": str(samples)}))
    samples.rename(tmp_path / "patients.csv")
    moved = manifest(file, reading={"samples": str(tmp_path / "patients.csv")})
    assert len(follow_files(store, moved.rows())) == 1
    assert store.keys() == wanted(moved)


def test_files_of_one_name_are_told_apart_by_folder(file, tmp_path):
    other = tmp_path / "after" / "cells.csv"
    other.parent.mkdir()
    shutil.copy(file, other)
    records = [Record(manifest(path).rows()[0], 0, 0, auroc=0.5) for path in (file, other)]
    titles = {one.title for one in compare(records)}
    assert titles == {f"cells.csv (in {path.parent})" for path in (file, other)}
    assert [one.title for one in compare(records[:1])] == ["cells.csv"]

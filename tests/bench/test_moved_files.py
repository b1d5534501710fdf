"""Fits of a file stay those of the file where it moves, and not where its content changes."""

from __future__ import annotations

import shutil

import pytest

from pointforms.bench.comparison import compare
from pointforms.bench.costs import costs_table
from pointforms.bench.local_engine import LocalEngine
from pointforms.bench.manifest import Manifest
from pointforms.bench.moved_files import changed_files, records_of
from pointforms.bench.plan import plan
from pointforms.bench.records import Record, Row, titles
from pointforms.bench.running import run
from pointforms.bench.store import Store
from pointforms.bench.sweep import read_sweep
from pointforms.tasks import load, write


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "before" / "cells.csv"
    path.parent.mkdir()
    write(load("colocated", clouds=20, points=8), path)
    return path


@pytest.fixture
def samples(file, tmp_path):
    names = sorted({line.split(",")[0] for line in file.read_text().splitlines()[1:]})

    def make(name, site):
        path = tmp_path / name
        path.write_text("cloud,site\n" + "".join(f"{name},{site}\n" for name in names))
        return path

    return make


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.db") as made:
        yield made


def manifest(path, models=("mlp", "gcn"), *others, **content) -> Manifest:
    tasks = [str(path), *map(str, others)]
    return Manifest("", (read_sweep({"tasks": tasks, "models": list(models), **content}),))


def fill(store, manifest, auroc=0.5, error=None):
    for unit in manifest.units():
        score = {"auroc": auroc} if error is None else {"error": error}
        store.finish(None, [Record(unit.row, *fit, **score) for fit in unit.fits])


def assert_complete(store, manifest, auroc=0.5):
    """Nothing is left to train, and tables show the fits as those of one task."""
    assert run(manifest.units(), store, LocalEngine(1)).trained == 0
    assert plan(manifest, store.keys()).total.left == 0
    records = records_of(manifest.rows(), store.records())
    fits = {key for unit in manifest.units() for key in unit.keys}
    assert {(r.row.key, r.fold, r.seed) for r in records} == fits
    assert {record.auroc for record in records} == {auroc}
    assert len(compare(records, manifest.rows())) == 1


def test_a_file_that_moved_keeps_its_fits(file, store, tmp_path):
    fill(store, manifest(file))
    file.rename(tmp_path / "renamed.csv")
    assert_complete(store, manifest(tmp_path / "renamed.csv"))
    assert changed_files(manifest(tmp_path / "renamed.csv").rows(), store.keys()) == []


def test_a_copy_has_the_fits_of_the_file(file, store, tmp_path):
    fill(store, manifest(file))
    copy = shutil.copy(file, tmp_path / "copy.csv")
    before = store.keys()
    assert_complete(store, manifest(copy))
    assert_complete(store, manifest(file))
    assert store.keys() == before  # paths in a store stay: others may see the file there


def test_a_renamed_file_keeps_its_fits_where_a_new_one_has_its_name(file, store):
    fill(store, manifest(file))
    first = file.rename(file.with_name("first.csv"))
    first_text = first.read_text()
    file.write_text(first_text.replace("arcs", "bows"))
    both = manifest(first, ["mlp", "gcn"], file)
    assert changed_files(both.rows(), store.keys()) == []
    assert plan(both, store.keys()).total.done == plan(both, store.keys()).total.left == 10
    assert_complete(store, manifest(first))


def test_reading_a_store_shows_one_path_for_all_models(file, store, tmp_path):
    fill(store, manifest(file, ["mlp"]))
    moved = file.rename(tmp_path / "moved.csv")
    fill(store, manifest(moved, ["gcn"]))
    records = store.records()
    assert {record.row.task for record in records} == {str(moved)}
    assert [one.title for one in compare(records)] == ["moved.csv"]
    assert len(records) == 10


def test_a_finished_fit_counts_before_a_failed_one(file, store, tmp_path):
    copy = shutil.copy(file, tmp_path / "copy.csv")
    fill(store, manifest(file))
    fill(store, manifest(copy), error="MemoryError")
    for path in (file, copy):
        assert_complete(store, manifest(path))
    assert run(manifest(copy).units(), store, LocalEngine(1), retry=True).trained == 0


def test_the_later_of_two_fits_counts(file, store, tmp_path):
    copy = shutil.copy(file, tmp_path / "copy.csv")
    fill(store, manifest(file), auroc=0.5)
    fill(store, manifest(copy), auroc=0.9)
    assert_complete(store, manifest(file), auroc=0.9)


def test_a_table_of_samples_may_move_too(file, store, samples):
    first = samples("samples.csv", "a")
    fill(store, manifest(file, reading={"samples": str(first)}))
    moved = first.rename(first.with_name("patients.csv"))
    assert_complete(store, manifest(file, reading={"samples": str(moved)}))


def test_a_file_that_changes_is_another_task_and_is_named(file, store):
    fill(store, manifest(file))
    file.write_text(file.read_text().replace("arcs", "bows"))
    changed = manifest(file)
    [note] = changed_files(changed.rows(), store.keys())
    assert note.startswith("cells.csv has changed: 10 fits of its former content are not used")
    assert plan(changed, store.keys()).total.left == 10
    fill(store, changed)
    records = store.records()
    titles = {one.title for one in compare(records)}
    contents = {record.row.content for record in records}
    assert titles == {f"cells.csv (content {content[-8:]})" for content in contents}
    assert {row["task"] for row in costs_table(records).rows} == titles


def test_other_ways_to_read_a_file_do_not_change_it(file, store, samples):
    one, other = samples("one.csv", "a"), samples("other.csv", "b")
    plain, with_one = manifest(file), manifest(file, reading={"samples": str(one)})
    fill(store, plain)
    fill(store, with_one)
    together = Manifest("", plain.sweeps + with_one.sweeps)
    assert changed_files(together.rows(), store.keys()) == []
    asked = manifest(file, reading={"samples": str(other)})
    assert changed_files(asked.rows(), store.keys()) == []
    assert plan(asked, store.keys()).total.left == 10


def test_a_manifest_names_a_file_once(file, tmp_path):
    copy = shutil.copy(file, tmp_path / "copy.csv")
    with pytest.raises(ValueError, match=r"copy\.csv has the content of .*cells\.csv: leave one"):
        manifest(file, ["mlp"], copy).rows()


def test_files_of_one_name_are_told_apart_by_folder(file, tmp_path):
    other = tmp_path / "after" / "cells.csv"
    other.parent.mkdir()
    other.write_text(file.read_text().replace("arcs", "bows"))
    records = [Record(manifest(path).rows()[0], 0, 0, auroc=0.5) for path in (file, other)]
    titles = {one.title for one in compare(records)}
    assert titles == {f"cells.csv (in {path.parent})" for path in (file, other)}
    assert [one.title for one in compare(records[:1])] == ["cells.csv"]


def test_ways_to_read_that_a_title_does_not_show_are_numbered():
    names = [[f"gene{i}" for i in range(first, first + 4)] for first in (0, 4)]
    sizes = [Row("cells.csv", "mlp", content="1f", reading={"features": n}).size for n in names]
    assert sizes[0].title == sizes[1].title
    assert len(set(titles(sizes).values())) == 2


def test_a_manifest_names_a_file_once_whatever_it_is_read_for(file, tmp_path):
    copy = shutil.copy(file, tmp_path / "copy.csv")
    sweeps = manifest(file, ["mlp"]).sweeps + manifest(copy, ["gcn"]).sweeps
    with pytest.raises(ValueError, match="leave one of them out"):
        Manifest("", sweeps).rows()

"""`npf export`, `npf import` of what it wrote, and copies of stores."""

from __future__ import annotations

import csv
import os
import shutil

import numpy as np
import pytest
from tests.helpers.commands import ok, refused

from pointforms.bench.store import Store


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


@pytest.mark.parametrize("name", ["copy.db", "copy.sqlite", "new/copy.sqlite3"])
def test_a_store_is_copied_with_its_predictions(filled, folder, name):
    assert "4 fits" in ok("export", filled, name)
    with Store(filled, read_only=True) as one, Store(name, read_only=True) as two:
        for ours, theirs in zip(one.records(), two.records(), strict=True):
            np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)
    assert "0 fits trained" in ok("sweep", filled.with_name("small.toml"), "--store", name)


def test_a_copy_never_replaces_a_store(filled, folder):
    shutil.copy(filled, "mine.db")
    before = filled.read_bytes()
    assert "'mine.db' is read by this command" in refused("export", "mine.db", "mine.db")
    os.link("mine.db", "link.db")
    assert "'link.db' exists" in refused("export", "mine.db", "link.db")
    assert "'mine.db' exists" in refused("export", filled, "mine.db")
    assert filled.read_bytes() == before == (folder / "mine.db").read_bytes()


def test_an_absent_store_is_explained(folder):
    assert "npf export: no store 'absent.db'" in refused("export", "absent.db", "fits.csv")
    assert not list(folder.iterdir())


def test_files_that_are_not_csv_are_not_written_as_csv(filled, folder):
    assert "'fits.parquet' ends in none of .csv, .db" in refused("export", filled, "fits.parquet")
    assert not list(folder.glob("fits*"))


def test_an_absent_file_of_fits_is_explained(folder):
    assert "npf import: no file 'absent.csv'" in refused("import", "absent.csv", "--store", "x.db")

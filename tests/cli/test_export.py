"""`npf export`, and `npf import` of what it wrote."""

from __future__ import annotations

import csv

from tests.helpers.commands import ok, refused


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


def test_an_absent_store_is_explained(folder):
    assert "npf export: no store 'absent.db'" in refused("export", "absent.db", "fits.csv")
    assert not list(folder.iterdir())

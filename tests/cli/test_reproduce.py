"""`npf reproduce`."""

from __future__ import annotations

import csv
import os

from tests.helpers.commands import MANIFEST, ok, refused

from pointforms.bench.manifest import read_manifest


def test_reproduce_writes_tables_and_fits(folder, monkeypatch):
    (folder / "small.toml").write_text(MANIFEST)
    asked = []

    def small(name):
        asked.append(name)
        return read_manifest("small.toml")

    monkeypatch.setattr("pointforms.bench.read_manifest", small)
    printed = ok("reproduce", "synthetic", "--quick", "--out", "made/here")
    assert asked == ["synthetic-quick"]
    made = folder / "made" / "here"
    page = (made / "synthetic-quick.md").read_text()
    assert page.startswith("# synthetic-quick\n\n4 of 4 fits, 0 of them failed.")
    assert "NPF (selected)" in page
    with open(made / "synthetic-quick-fits.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 4
    assert str(made / "synthetic-quick.md") in printed
    assert "0 fits trained" in ok("reproduce", "synthetic", "--quick", "--out", "made/here")


def test_only_organoids_take_a_table_of_cells(folder):
    assert "--table" in refused("reproduce", "pdo")
    assert "--table" in refused("reproduce", "synthetic", "--table", "cells.parquet")
    assert "--quick" in refused("reproduce", "pdo", "--quick", "--table", "cells.parquet")
    assert os.listdir() == []

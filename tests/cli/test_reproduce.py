"""`npf reproduce`."""

from __future__ import annotations

import csv
import os

import numpy as np
import pandas as pd
from tests.helpers.commands import MANIFEST, ok, refused

from pointforms.bench.manifest import read_manifest
from pointforms.tasks.entries import KIDNEY
from pointforms.tasks.kidney import FEATURES


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


def test_the_real_study_leaves_out_kidney_patients_without_their_file(folder, monkeypatch):
    monkeypatch.delenv(KIDNEY, raising=False)
    (folder / "small.toml").write_text(
        'folds = 2\n[[sweep]]\ntasks = ["japanese-vowels", "kidney"]\nmodels = ["composition"]\n'
    )
    monkeypatch.setattr("pointforms.bench.read_manifest", lambda _: read_manifest("small.toml"))
    printed = ok("reproduce", "real")
    assert f"Without the task kidney: set {KIDNEY}" in printed
    page = (folder / "real" / "real.md").read_text()
    assert page.startswith("# real\n\n2 of 2 fits, 0 of them failed. Real data: japanese-vowels.")
    assert "### japanese-vowels" in page


def test_the_real_study_with_kidney_patients(folder, monkeypatch):
    monkeypatch.setenv(KIDNEY, "")  # restored after the command has set it
    (folder / "small.toml").write_text(
        'folds = 2\n[[sweep]]\ntasks = ["kidney"]\nmodels = ["logistic-regression"]\n'
    )
    monkeypatch.setattr("pointforms.bench.read_manifest", lambda _: read_manifest("small.toml"))
    assert "absent.h5ad" in refused("reproduce", "real", "--kidney", "absent.h5ad")
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(40), 9)
    columns = {name: rng.normal(size=len(patients)) for name in FEATURES}
    labels = np.array(["<30", ">60"])[patients % 2]
    table = pd.DataFrame({"patient": patients, "egfr": labels} | columns)
    table.to_parquet("glomeruli.parquet")
    ok("reproduce", "real", "--kidney", "glomeruli.parquet")
    assert "### kidney" in (folder / "real" / "real.md").read_text()


def test_only_the_real_study_takes_kidney_patients(folder):
    assert "--kidney" in refused("reproduce", "synthetic", "--kidney", "a.h5ad")
    assert "--quick" in refused("reproduce", "real", "--quick")


def test_only_organoids_take_a_table_of_cells(folder):
    assert "--table" in refused("reproduce", "pdo")
    assert "--table" in refused("reproduce", "synthetic", "--table", "cells.parquet")
    assert "--quick" in refused("reproduce", "pdo", "--quick", "--table", "cells.parquet")
    assert os.listdir() == []

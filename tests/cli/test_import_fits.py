"""`npf import`."""

from __future__ import annotations

import os

from tests.helpers.commands import npf, refused

from pointforms.bench.store import Store


def test_a_wrong_csv_makes_no_store(folder):
    (folder / "fits.csv").write_text("task,model,fold,seed,auroc\na,mlp,0,0,0.5\na,mlp,x,0,0.5\n")
    assert "fits.csv, line 3: fold is 'x'" in refused("import", "fits.csv")
    assert os.listdir() == ["fits.csv"]
    with Store("there.db") as store:
        assert npf("import", "fits.csv", "--store", "there.db").exit_code == 2
        assert store.keys() == frozenset()


def test_an_absent_file_is_explained(folder):
    message = refused("import", "absent.csv")
    assert message.startswith("npf import:")
    assert "absent.csv" in message
    assert os.listdir() == []


def test_nothing_is_imported_if_any_row_is_impossible(folder):
    (folder / "fits.csv").write_text(
        "task,model,fold,seed,auroc,seconds\na,mlp,0,0,0.5,1\na,mlp,1,0,-5,1\n"
    )
    message = refused("import", "fits.csv")
    assert "fits.csv, line 3: auroc=-5.0: expected a finite number from 0 to 1" in message
    assert os.listdir() == ["fits.csv"]

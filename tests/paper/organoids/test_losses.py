"""Cells that a table lacks or that no task uses are told."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from tests.helpers.organoids import changed

from pointforms.paper.organoids.conditions import Condition
from pointforms.paper.organoids.losses import check_plates
from pointforms.paper.organoids.prepare import Options, prepare
from pointforms.paper.organoids.prepared_tasks import load_from

STRAY = "21/PDO/Fibs/SLV/DMSO/0"


def facts_of(folder):
    return json.loads((folder / "task.json").read_text("utf-8"))


def test_lost_patients_and_plates_are_told(table, tmp_path):
    made = prepare(table, tmp_path, ["culture"], Options(ppkca="drop"))["culture"]
    facts, task = facts_of(made), load_from(made)
    lost = facts["incomplete"]
    assert lost["patients"] == ["27", "75", "141"]
    # of patient 21 the plate of 20220328 is left
    assert {"21/CSF", "21/SLV", "23/SLV", "5/CSF", "5/O"} <= set(lost["plates"])
    assert "21/O" not in lost["plates"]
    assert not any(plate.split("/")[0] in lost["patients"] for plate in lost["plates"])
    assert lost["cells"] == facts["dropped"] == pytest.approx(0.45 * facts["rows"], rel=0.15)
    assert "all cells of patients 27, 75, 141 and all cells of plates 5/" in facts["table_notes"][0]
    assert len(np.unique(task.groups)) == 7
    assert len(task.feature_names) == 45


def test_cells_that_are_left_out_are_told(folder):
    for name in ("culture", "efp"):
        facts = facts_of(folder / f"pdo-{name}")
        assert facts["left_out"] == {STRAY: 25}
        assert facts["incomplete"] == {"cells": 0, "patients": [], "plates": []}
        assert facts["table_notes"] == [
            f"25 cells are not of their well's culture and are left out: {STRAY}"
        ]


def test_treatments_are_on_their_plates(table, tmp_path):
    def renamed(cells):  # both are names of treatments, on different plates
        names = ["O" if name == "L" else name for name in cells["Treatment"].to_pylist()]
        place = cells.column_names.index("Treatment")
        return cells.set_column(place, "Treatment", pa.array(names))

    with pytest.raises(ValueError, match=r"SLV/O/1: plate 'SLV' has no 'O'"):
        prepare(changed(table, tmp_path, renamed), tmp_path / "out", ["efp"])
    assert not (tmp_path / "out").exists()
    one = Condition("5", "PDO", "PDOs", "SLV", "S", "1")
    check_plates([one, one.control()])
    for wrong in (one._replace(concentration="0"), one.control()._replace(concentration="1")):
        with pytest.raises(ValueError, match="controls, and only they, have concentration '0'"):
            check_plates([wrong])


def test_unknown_choice_for_ppkca(table, tmp_path):
    with pytest.raises(ValueError, match="ppkca='mean': expected one of"):
        prepare(table, tmp_path, ["culture"], Options(ppkca="mean"))

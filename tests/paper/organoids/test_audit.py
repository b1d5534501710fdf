from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from tests.helpers.organoids import changed

from pointforms.paper.organoids.audit import audit
from pointforms.paper.organoids.prepare import prepare


def test_the_audit_passes(folder):
    for name in ("tumor-selective", "patient"):
        found = audit(folder / f"pdo-{name}")
        assert all(one.passed for one in found), found


def test_the_audit_finds_planted_leaks(table, folder, tmp_path):
    def copy(cells):  # a marker that is kept becomes a copy of one that is withheld
        place = cells.column_names.index("pS6")
        return cells.set_column(place, "pS6", cells["cPARP"])

    made = prepare(changed(table, tmp_path, copy), tmp_path / "copied", ["efp"])["efp"]
    wrong = {one.what: one.details for one in audit(made) if not one.passed}
    assert list(wrong) == ["copies"]
    assert "pS6 is a copy of cPARP" in wrong["copies"]

    made = prepare(table, tmp_path / "spoilt", ["efp"])["efp"]
    facts = json.loads((made / "task.json").read_text())
    facts["markers"][3] = "cPARP"
    (made / "task.json").write_text(json.dumps(facts))
    with np.load(made / "audit.npz") as archive:
        cells = {name: archive[name].copy() for name in archive.files}
    cells["rows"][1] = cells["rows"][0]
    cells["conditions"][5] = "5/PDO/PDOs/SLV/DMSO/0"
    np.savez(made / "audit.npz", **cells)
    wrong = {one.what for one in audit(made) if not one.passed}
    assert wrong == {"withheld markers", "cells", "controls"}

    with np.load(made / "clouds.npz") as archive:
        content = {name: archive[name].copy() for name in archive.files}
    content["fold"][0] = (content["fold"][0] + 1) % 5
    np.savez(made / "clouds.npz", **content)
    [torn] = audit(made)
    assert (torn.what, torn.passed) == ("groups", False)
    assert "has clouds in the folds" in torn.details


@pytest.mark.parametrize("name", ["clouds.npz", "audit.npz"])
def test_a_damaged_file_is_an_error_and_no_leak(folder, tmp_path, name):
    damaged = shutil.copytree(folder / "pdo-efp", tmp_path / "pdo-efp")
    (damaged / name).write_bytes((damaged / name).read_bytes()[:500])
    with pytest.raises(ValueError, match=f"{name}' (is not an archive|cannot be read)"):
        audit(damaged)

"""Both checks of the theory in one run."""

from __future__ import annotations

import csv

import pytest

from pointforms.paper.theory import checks, run_checks
from pointforms.paper.theory.tables import consistency_table, density_table


def test_a_run_writes_tables_and_pictures(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(checks, "QUICK_SIZES", (250, 500))
    report = run_checks(tmp_path / "theory", seeds=2, quick=True, progress=False)
    names = {path.name for path in report.tables + report.pictures}
    assert names == {
        f"{kind}.{end}" for kind in ("density", "consistency") for end in ("csv", "png", "pdf")
    }
    assert all(path.stat().st_size > 1000 for path in report.tables + report.pictures)
    with (tmp_path / "theory" / "consistency.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2 * len(report.consistency)
    assert {line["n"] for line in lines} == {"250", "500"}
    assert len(density_table(report.density).rows) == 16
    table = consistency_table(report.consistency)
    assert len(table.rows) == len(report.consistency)
    assert [column.heading for column in table.shown()] == [
        "manifold", "k", "error", "n = 250", "n = 500", "slope", "bound",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="seeds=1"):
        run_checks(tmp_path, seeds=1)

"""Costs of fits, and runs."""

import pytest
from tests.helpers.scored_fits import TASK, small

from pointforms.bench.costs import costs_table, runs_table
from pointforms.bench.run_history import Run


def test_costs_keep_allocated_and_summed_hours_apart():
    table = costs_table(small(), [(3600.0, 2), (1800.0, 4)])
    assert table.total["fit_hours"] == pytest.approx(25 * 1.5 / 3600)
    assert {
        "task": TASK, "model": "GCN", "rows": 1, "fits": 6, "failed": 1,
        "fit_hours": pytest.approx(7.5 / 3600),
    } in table.rows  # fmt: skip
    shown = table.markdown()
    assert "| all |  | 5 | 26 | 1 | 0.010 |" in shown
    assert "Allocated: 4.000 worker hours (wall time × workers) in 2 runs." in shown
    assert costs_table(reversed(small())).rows == table.rows
    assert "Allocated" not in costs_table(small()).markdown()
    assert "| all |" in costs_table([]).markdown()
    assert "all" not in table.csv()


def test_runs_have_their_state_and_time():
    run = Run(1, "a & b", "local", 2, "host", 7, "Some CPU, 2 cores", "0.1.0", 0.0, 90.0, 1)
    (row,) = runs_table([run]).rows
    assert (row["run"], row["state"], row["wall"]) == (1, "ended", 90.0)
    assert "| 1.5 min |" in runs_table([run]).markdown()

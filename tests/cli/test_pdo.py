"""`npf pdo`."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from pointforms import tasks
from pointforms.cli.app import app
from pointforms.paper.organoids.simulate import write_simulated


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("pdo") / "cells.parquet"
    write_simulated(path, cells=14, seed=1)
    return path


def test_commands(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    made = runner.invoke(app, ["pdo", "simulate", "cells.parquet", "--cells", "4"])
    assert made.exit_code == 0, made.output
    assert "simulated" in made.output
    done = runner.invoke(app, ["pdo", "prepare", str(table), "--task", "caf", "--task", "culture"])
    assert done.exit_code == 0, done.output
    assert "peak memory" in done.output
    checked = runner.invoke(app, ["pdo", "audit"])
    assert checked.exit_code == 0, checked.output
    nothing = runner.invoke(app, ["pdo", "audit", "--out", "none"])
    assert nothing.exit_code == 2
    with pytest.raises(FileNotFoundError, match="no prepared task 'pdo-efp' in 'pdo'"):
        tasks.load("pdo-efp")
    with pytest.raises(ValueError, match="no task 'pdo-cafe': did you mean 'pdo-caf'"):
        tasks.load("pdo-cafe")

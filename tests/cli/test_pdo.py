"""`npf pdo`."""

from __future__ import annotations

import zipfile

import pytest
from pyarrow import parquet
from tests.helpers.organoids import write_pandas1_pickle
from typer.testing import CliRunner

from pointforms import tasks
from pointforms.cli.app import app
from pointforms.paper.organoids.simulate import write_simulated
from pointforms.paper.organoids.table import CellTable


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
    assert done.output.count("note: 25 cells are not of their well's culture") == 1
    checked = runner.invoke(app, ["pdo", "audit"])
    assert checked.exit_code == 0, checked.output
    nothing = runner.invoke(app, ["pdo", "audit", "--out", "none"])
    assert nothing.exit_code == 2
    with pytest.raises(FileNotFoundError, match="no prepared task 'pdo-efp' in 'pdo'"):
        tasks.load("pdo-efp")
    with pytest.raises(ValueError, match="no task 'pdo-cafe': did you mean 'pdo-caf'"):
        tasks.load("pdo-cafe")


def test_the_download_is_converted(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    frame = parquet.read_table(table).slice(0, 200).to_pandas()
    with zipfile.ZipFile("Metadata_PDO_CAF_screening.zip", "w") as archive:
        archive.writestr("__MACOSX/._Metadata_final_paper", b"")
        with archive.open("Metadata_final_paper", "w") as file:
            write_pandas1_pickle(frame, file)
    command = ["pdo", "convert", "Metadata_PDO_CAF_screening.zip", "cells.parquet"]
    runner = CliRunner()
    refused = runner.invoke(app, command)
    assert (refused.exit_code, refused.output.count("\n")) == (2, 1)
    assert "--trust-pickle" in refused.output
    done = runner.invoke(app, [*command, "--trust-pickle"])
    assert done.exit_code == 0, done.output
    first, *rest = done.output.splitlines()
    assert "of memory, and up to" in first
    assert any("200 cells; peak memory" in line for line in rest)
    assert CellTable("cells.parquet").rows() == 200


def test_lost_cells_are_printed(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        app, ["pdo", "prepare", str(table), "--task", "culture", "--ppkca", "drop"]
    )
    assert done.exit_code == 0, done.output
    assert "lack pPKCa and are dropped: all cells of patients 27, 75, 141 and" in done.output

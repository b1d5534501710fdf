"""`npf tasks`."""

from __future__ import annotations

import re

import pytest
from tests.helpers.commands import ok, refused

import pointforms


def test_tasks_are_listed_and_shown():
    listed = ok("tasks")
    assert listed == ok("tasks", "list")
    for name in pointforms.tasks.names():
        assert name in listed
    shown = ok("tasks", "show", "density-shift", "--clouds", "40")
    assert "40 of 256 points" in shown
    assert "nuisance" in shown


def test_the_list_fits_a_terminal_of_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    for command in ("tasks", "models"):
        lines = re.sub(r"\x1b\[[0-9;]*m", "", ok(command)).splitlines()
        assert max(map(len, lines)) <= 80
    assert "classes" in ok("tasks", "--wide")


def test_a_task_is_written_shown_and_drawn_from_its_file(tmp_path):
    table = tmp_path / "quick.parquet"
    ok("tasks", "write", "rna-velocity-quick", table, "--clouds", "40", "--points", "8")
    assert "label: base 20, perturbed 20 (classification)" in ok("tasks", "show", table)
    ok("tasks", "draw", table, "colocated", "--out", tmp_path / "sheets")
    assert sorted(p.name for p in (tmp_path / "sheets").iterdir()) == ["colocated.png", "quick.png"]
    assert all(p.stat().st_size > 10_000 for p in (tmp_path / "sheets").iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "squares"], "no task 'squares': expected one of 'circles-vs-lines'"),
        (["show", "absent.parquet"], "no file 'absent.parquet'"),
        (["show", "absent.parquet", "--clouds", "9"], "not for files"),
        (["write", "colocated", "out.txt"], "'out.txt': expected"),
    ],
)
def test_mistakes_are_explained(arguments, message):
    assert message in refused("tasks", *arguments)

"""`npf memory`."""

from __future__ import annotations

import csv

from tests.helpers.commands import ok, refused


def test_memory_has_one_line_per_degree():
    printed = ok("memory", "circles-vs-lines", "--format", "csv")
    lines = [line for line in csv.reader(printed.splitlines()) if line]
    assert [line[:1] for line in lines[1:]] == [["circles-vs-lines"]] * 4  # k = 0, 1, 2, 3
    assert {len(line) for line in lines} == {len(lines[0])}


def test_an_unknown_task_is_explained():
    assert "npf memory: no task 'squares'" in refused("memory", "squares")

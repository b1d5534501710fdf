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


def test_a_file_needs_no_labels(tmp_path, rng):
    rows = ["sample,x,y"] + [f"s{i % 4},{rng.normal()},{rng.normal()}" for i in range(80)]
    (tmp_path / "cells.csv").write_text("\n".join(rows))
    file = str(tmp_path / "cells.csv")
    assert "--cloud NAME" in refused("memory", file)
    assert "Memory of Gram fields" in ok("memory", file, "--cloud", "sample")


def test_tasks_of_the_catalogue_have_columns_of_their_own():
    assert "columns are chosen in files only" in refused("memory", "colocated", "--cloud", "x")

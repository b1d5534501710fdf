from __future__ import annotations

import csv
import io
from math import inf, nan

import pytest
from rich.console import Console

from pointforms.support.table import (
    Column,
    Difference,
    Estimate,
    Table,
    difference,
    estimate,
    is_missing,
    number,
    seconds,
)


@pytest.fixture
def table() -> Table:
    columns = [
        Column("model", "model", left=True),
        Column("auroc", "AUROC", estimate, best="max"),
        Column("seconds", "s", seconds, wide=True, best="min"),
        Column("gain", "gain", difference),
        Column("nothing", "nothing"),
    ]
    rows = [
        {"model": "a_b|<c>", "auroc": Estimate(0.9001, 0.02), "seconds": 12.0, "digest": "=1+1"},
        {
            "model": "$x$ & 5 %",
            "auroc": Estimate(0.9004),
            "seconds": 0.5,
            "gain": Difference(-0.03, -0.05, -0.01, 0.002),
        },
        {"model": "line\nbreak", "auroc": Estimate(nan), "seconds": None},
    ]
    return Table("Models, 95 % intervals", columns, rows, ["A note with a | bar."])


def test_missing_values_are_known():
    for value in (None, nan, inf, Estimate(), Difference()):
        assert is_missing(value)
    for value in (0, 0.0, "", False, Estimate(0.0), Difference(0.0)):
        assert not is_missing(value)


def test_values_have_a_number_to_sort_by():
    assert number(Estimate(0.5, 0.1)) == number(Difference(0.5)) == number(0.5) == 0.5
    assert number("text") != number("text")  # NaN
    assert number(None) != number(None)


def test_columns_are_shown_if_they_have_values(table):
    assert [column.key for column in table.shown(wide=False)] == ["model", "auroc", "gain"]
    assert [column.key for column in table.shown()] == ["model", "auroc", "seconds", "gain"]


def test_the_best_values_are_those_that_print_alike(table):
    auroc, duration = table.columns[1], table.columns[2]
    assert [table.is_best(row, auroc) for row in table.rows] == [True, True, False]
    assert [table.is_best(row, duration) for row in table.rows] == [False, True, False]


def test_csv_keeps_every_digit_and_runs_no_formula(table):
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert float(rows[0]["auroc"]) == 0.9001
    assert float(rows[0]["auroc_half"]) == 0.02
    assert rows[1]["auroc_half"] == rows[2]["auroc"] == rows[2]["seconds"] == ""
    assert [float(rows[1][f"gain{end}"]) for end in ("", "_low", "_high", "_p")] == [
        -0.03,
        -0.05,
        -0.01,
        0.002,
    ]
    assert rows[0]["digest"] == "'=1+1"  # a value without a column
    assert rows[2]["model"] == "line break"
    assert table.render("csv") == table.csv()


def test_markdown_escapes_names(table):
    lines = table.render("markdown").splitlines()
    assert lines[0] == "### Models, 95 % intervals"
    assert lines[2:4] == ["| model | AUROC | s | gain |", "| :-- | --: | --: | --: |"]
    assert lines[4].startswith(r"| a\_b\|&lt;c&gt; | **0.900 ± 0.020** | 12 |")
    assert lines[5].endswith("| −0.030 \\[−0.050, −0.010\\], p = 0.002 ↓ |")
    assert lines[6] == "| line break |  |  |  |"
    assert lines[-1] == r"- A note with a \| bar."


def test_latex_escapes_names(table):
    text = table.render("latex")
    assert r"a\_b\textbar{}\textless{}c\textgreater{}" in text
    assert r"\$x\$ \& 5 \%" in text
    assert r"\textbf{0.900 $\pm$ 0.020}" in text
    assert r"\begin{tabular}{lrrr}" in text


def test_the_terminal_shows_the_narrow_columns(table):
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(table.terminal())
    text = console.export_text()
    assert "0.900 ± 0.020" in text
    assert "A note with a | bar." in text
    assert "12" not in text
    console.print(table.terminal(wide=True))
    assert "12" in console.export_text()


def test_a_table_can_have_another_title(table):
    assert table.headed("Others").title == "Others"
    assert table.headed("Others").rows is table.rows

"""Tables: what is shown, in every form, and what is escaped."""

import csv
import io

import pytest
from rich.console import Console

from pointforms.support.formatting import difference, estimate, significance
from pointforms.support.statistics import Difference, Estimate, Range
from pointforms.support.table import FORMS, Column, Table, is_missing, number

HOSTILE = "a|b\n| c <script>alert(1)</script> 100% $x$ \\input{y} _z_ #&~^ [red]r[/red] \x1b[31m"


@pytest.fixture
def hostile():
    columns = [Column("model", "model", left=True), Column("auroc", "AUROC", estimate)]
    names = (f"{HOSTILE} (o=*|&)", f"{HOSTILE} (defaults)")
    return Table(HOSTILE, columns, [{"model": n, "auroc": Estimate(0.8, 0.1)} for n in names])


def printed(table, width=80, **options):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(table.terminal(**options))
    return console.file.getvalue()


def test_markdown_escapes_hostile_names(hostile):
    shown = hostile.markdown()
    assert "<script" not in shown
    assert "\x1b" not in shown
    bars = {text.replace("\\|", "").count("|") for text in shown.splitlines() if text[:1] == "|"}
    assert len(bars) == 1  # no cell became two
    assert sum(text.startswith("| a\\|b ") for text in shown.splitlines()) == 2
    assert "o=\\*\\|&amp;" in shown


def test_latex_escapes_hostile_names(hostile):
    shown = hostile.latex()
    assert r"\input{" not in shown
    assert r"\textbackslash{}input\{y\}" in shown
    assert r"100\% \$x\$" in shown
    assert r"\_z\_ \#\&\textasciitilde{}\textasciicircum{} {[}red{]}" in shown
    body = [text for text in shown.splitlines() if text.startswith("a\\textbar")]
    assert len(body) == 2
    assert len({text.replace(r"\&", "").count("&") for text in body}) == 1
    for text in body:
        assert text.endswith(r" \\")
    assert r"\toprule" in shown
    assert "$\\pm$" in shown


def test_terminal_shows_names_as_they_are(hostile):
    shown = printed(hostile, width=1000)
    assert "[red]r[/red]" in shown
    assert "\x1b" not in shown


def test_csv_quotes_and_disarms():
    table = Table("t", [Column("model", "model")], [{"model": '=HYPERLINK("x")\n,|'}])
    (row,) = csv.DictReader(io.StringIO(table.csv()))
    assert row["model"] == '\'=HYPERLINK("x") ,|'
    assert len(table.csv().splitlines()) == 2


def test_values_of_several_numbers_have_names_in_csv():
    values = {
        "auroc": Estimate(0.9, 0.02),
        "difference": Difference(-0.03, -0.05, -0.01, 0.02, 0.01),
        "parameters": Range(10, 20),
    }
    (row,) = csv.DictReader(io.StringIO(Table("t", [], [values]).csv()))
    assert row == {
        "auroc": "0.9", "auroc_half": "0.02", "difference": "-0.03", "difference_low": "-0.05",
        "difference_high": "-0.01", "p": "0.01", "p_holm": "0.02", "parameters_least": "10",
        "parameters_most": "20",
    }  # fmt: skip
    assert [number(value) for value in values.values()] == [0.9, -0.03, 20]


def test_columns_without_values_or_heading_are_not_shown():
    columns = [Column("a", "a"), Column("b", "b"), Column("c", "")]
    table = Table("t", columns, [{"a": 1, "b": None, "c": 3}, {"a": 2, "b": float("nan"), "c": 4}])
    assert [column.key for column in table.shown()] == ["a"]
    assert table.csv().splitlines() == ["a,b,c", "1,,3", "2,,4"]


def test_wide_columns_are_for_wide_terminals_only():
    columns = [Column("a", "first"), Column("b", "second", wide=True)]
    table = Table("t", columns, [{"a": 1, "b": 2}])
    assert "second" not in printed(table)
    assert "second" in printed(table, wide=True)
    assert "second" in table.markdown()


def test_two_columns_may_show_one_value():
    columns = [
        Column("difference", "difference", difference, lambda value: value),
        Column("difference", "p", significance, sort=lambda value: value.p),
    ]
    table = Table.of("t", columns, [Difference(0.1, 0.05, 0.15, 0.01), Difference(0.2)])
    first, second = table.rows
    assert [table.cell(first, column) for column in columns] == [
        "+0.100 [+0.050, +0.150]",
        "0.010 ↑",
    ]
    assert [table.sort_key(first, column) for column in columns] == [0.1, 0.01]
    assert [table.cell(second, column) for column in columns] == ["+0.200", ""]
    assert table.sort_key(second, columns[1]) is None


def test_a_total_is_shown_last_and_not_in_csv():
    columns = [Column("name", "name", left=True), Column("count", "count")]
    table = Table("t", columns, [{"name": "a", "count": 1}], total={"name": "all", "count": 7})
    assert table.markdown().splitlines()[-1] == "| all | 7 |"
    assert table.latex().count(r"\midrule") == 2
    assert "all" in printed(table)
    assert "all" not in table.csv()


def test_the_best_values_are_bold_after_rounding():
    columns = [Column("x", "x", "{:.3f}".format, best="max"), Column("y", "y", best="min")]
    rows = [{"x": 0.9001, "y": 3}, {"x": 0.9004, "y": 2}, {"x": 0.8, "y": None}]
    table = Table("t", columns, rows)
    assert [table.is_best(row, columns[0]) for row in rows] == [True, True, False]
    assert [table.is_best(row, columns[1]) for row in rows] == [False, True, False]


def test_long_names_wrap_and_numbers_do_not():
    columns = [Column("name", "name", left=True), Column("x", "a long heading of a number")]
    table = Table("t", columns, [{"name": "word " * 30, "x": 123456}], ["note " * 40])
    shown = printed(table)
    assert max(map(len, shown.splitlines())) <= 80
    assert "123456" in shown
    assert shown.split().count("word") == 30
    assert shown.split().count("note") == 40


def test_missing_values():
    assert all(map(is_missing, (None, float("nan"), Estimate(), Difference(), Range())))
    assert not any(map(is_missing, (0, "", False, Estimate(0.0))))


@pytest.mark.parametrize("form", FORMS)
def test_a_table_without_rows(form):
    assert isinstance(Table("Nothing", [Column("a", "a")], []).render(form), str)

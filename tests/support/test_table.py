"""Tables: what is shown, in every form, and what is escaped."""

import csv
import io
from math import inf, nan

import pytest
from rich.console import Console

from pointforms.support.formatting import difference, estimate, seconds, significance
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


def test_missing_values_are_known():
    for value in (None, nan, inf, Estimate(), Difference(), Range()):
        assert is_missing(value)
    for value in (0, 0.0, "", False, Estimate(0.0), Difference(0.0)):
        assert not is_missing(value)


@pytest.mark.parametrize("form", FORMS)
def test_a_table_without_rows(form):
    assert isinstance(Table("Nothing", [Column("a", "a")], []).render(form), str)


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


def test_values_have_a_number_to_sort_by():
    assert number(Estimate(0.5, 0.1)) == number(Difference(0.5)) == number(0.5) == 0.5
    assert number("text") != number("text")  # NaN
    assert number(None) != number(None)


def test_columns_are_shown_if_they_have_values(table):
    assert [column.key for column in table.shown(wide=False)] == ["model", "auroc", "gain"]
    assert [column.key for column in table.shown()] == ["model", "auroc", "seconds", "gain"]


def test_the_best_values_are_those_that_print_alike(table):
    auroc, seconds_column = table.columns[1], table.columns[2]
    assert [table.is_best(row, auroc) for row in table.rows] == [True, True, False]
    assert [table.is_best(row, seconds_column) for row in table.rows] == [False, True, False]


def test_csv_keeps_every_digit_and_runs_no_formula(table):
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert float(rows[0]["auroc"]) == 0.9001
    assert float(rows[0]["auroc_half"]) == 0.02
    assert rows[1]["auroc_half"] == rows[2]["auroc"] == rows[2]["seconds"] == ""
    numbers = [float(rows[1][name]) for name in ("gain", "gain_low", "gain_high", "p_holm")]
    assert numbers == [-0.03, -0.05, -0.01, 0.002]
    assert rows[0]["digest"] == "'=1+1"  # a value without a column
    assert rows[2]["model"] == "line break"
    assert table.render("csv") == table.csv()


def test_markdown_has_a_heading_and_notes(table):
    lines = table.render("markdown").splitlines()
    assert lines[0] == "### Models, 95 % intervals"
    assert lines[2:4] == ["| model | AUROC | s | gain |", "| :-- | --: | --: | --: |"]
    assert lines[4].startswith(r"| a\_b\|&lt;c&gt; | **0.900 ± 0.020** | 12 |")
    assert lines[5].endswith("| −0.030 \\[−0.050, −0.010\\] |")
    assert lines[6] == "| line break |  |  |  |"
    assert lines[-1] == r"- A note with a \| bar."


def test_latex_has_bold_and_alignment(table):
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


def test_narrow_tables_may_have_fewer_words():
    table = Table("t", [Column("a", "a")], [{"a": 1}], ["A long note."], brief=["Short."])
    assert "Short." in printed(table)
    assert "A long note." not in printed(table)
    assert "A long note." in printed(table, wide=True)
    assert "A long note." in table.markdown()

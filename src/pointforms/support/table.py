"""One table type: it holds numbers, and turns them into text only when it is shown.

A :class:`Table` has typed columns and rows of values. It is rendered for a terminal, as Markdown,
LaTeX or CSV, and the HTML page reads the same columns and values. Names come from users' files, so
every form escapes what it would interpret.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

from pointforms.support.statistics import is_significant

if TYPE_CHECKING:
    from rich.table import Table as RichTable

#: Names of the text forms a table can take, apart from the terminal.
FORMS = ("markdown", "latex", "csv")


class Estimate(NamedTuple):
    """A mean with half the width of its interval, as a value of a table."""

    mean: float = nan
    half: float | None = None


class Difference(NamedTuple):
    """A difference with its interval and p-value, as a value of a table.

    Attributes
    ----------
    mean : float
    low, high : float
        Ends of the 95 % interval; NaN where there is none.
    p : float
        NaN where nothing was tested.
    """

    mean: float = nan
    low: float = nan
    high: float = nan
    p: float = nan


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    key : str
        Which value of a row it shows; also its name in CSV.
    heading : str
    show : callable, default str
        Turns a value into text. It is not called for missing values, which are shown as nothing.
    left : bool, default False
        Align to the left, as for names.
    wide : bool, default False
        Shown only when all columns are asked for.
    best : {"max", "min"}, optional
        Print the best values, after rounding, in bold.
    """

    key: str
    heading: str
    show: Callable[[Any], str] = str
    left: bool = False
    wide: bool = False
    best: str | None = None


@dataclass(frozen=True)
class Table:
    """Columns, rows of values, and notes.

    Parameters
    ----------
    title : str
    columns : sequence of Column
        Columns without a single value are not shown.
    rows : sequence of mapping
        Values by key of column. Values under keys without a column are still written to CSV.
    notes : sequence of str
        Sentences below the table.

    Examples
    --------
    >>> table = Table(
    ...     "Models",
    ...     [Column("model", "model", left=True), Column("auroc", "AUROC", estimate, best="max")],
    ...     [
    ...         {"model": "forest", "auroc": Estimate(0.9, 0.02)},
    ...         {"model": "MLP", "auroc": Estimate(0.8)},
    ...     ],
    ... )
    >>> print(table.markdown())
    ### Models
    <BLANKLINE>
    | model | AUROC |
    | :-- | --: |
    | forest | **0.900 ± 0.020** |
    | MLP | 0.800 |
    <BLANKLINE>
    >>> print(table.csv())
    model,auroc,auroc_half
    forest,0.9,0.02
    MLP,0.8,
    <BLANKLINE>
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = field(default_factory=tuple)

    def shown(self, wide: bool = True) -> list[Column]:
        """Return the columns to show: those with a value, and the wide ones if asked for."""
        return [
            column
            for column in self.columns
            if (wide or not column.wide) and any(self.cell(row, column) for row in self.rows)
        ]

    def cell(self, row: Mapping[str, Any], column: Column) -> str:
        """Return the text of one cell; empty where the value is missing."""
        value = row.get(column.key)
        return "" if is_missing(value) else column.show(value)

    def is_best(self, row: Mapping[str, Any], column: Column) -> bool:
        """Whether a cell is among the best of its column, as it is printed."""
        if column.best is None or is_missing(row.get(column.key)):
            return False
        choose = max if column.best == "max" else min
        best = choose(
            (number(r.get(column.key)) for r in self.rows if not is_missing(r.get(column.key))),
        )
        return round(number(row.get(column.key)), 3) == round(best, 3)

    def headed(self, title: str) -> Table:
        """Return the same table under another title."""
        return replace(self, title=title)

    def render(self, form: str, wide: bool = True) -> str:
        """Return the table as text in one of :data:`FORMS`."""
        if form == "csv":
            return self.csv()
        return {"markdown": self.markdown, "latex": self.latex}[form](wide)

    def markdown(self, wide: bool = True) -> str:
        """Return a GitHub table under a heading, with the notes as a list."""
        columns = self.shown(wide)
        lines = [f"### {_markdown(self.title)}", ""]
        lines.append(_bar(_markdown(column.heading) for column in columns))
        lines.append(_bar(":--" if column.left else "--:" for column in columns))
        for row in self.rows:
            cells = [(_markdown(self.cell(row, c)), self.is_best(row, c)) for c in columns]
            lines.append(_bar(f"**{text}**" if best else text for text, best in cells))
        lines += ["", *(f"- {_markdown(note)}" for note in self.notes)]
        return "\n".join(lines).rstrip() + "\n"

    def latex(self, wide: bool = True) -> str:
        """Return a LaTeX table, which needs the package booktabs."""
        columns = self.shown(wide)
        rows = []
        for row in self.rows:
            cells = [(_latex(self.cell(row, c)), self.is_best(row, c)) for c in columns]
            texts = (rf"\textbf{{{text}}}" if best else text for text, best in cells)
            rows.append(" & ".join(texts) + r" \\")
        aligned = "".join("l" if column.left else "r" for column in columns)
        lines = [
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{_latex(self.title)}}}",
            rf"\begin{{tabular}}{{{aligned}}}",
            r"\toprule",
            " & ".join(_latex(column.heading) for column in columns) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\footnotesize {_latex(note)}" for note in self.notes),
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Return every value of every row, unrounded, as CSV; missing values are empty."""
        flat = [_flat(row) for row in self.rows]
        names = list(dict.fromkeys(name for row in flat for name in row))
        file = io.StringIO()
        writer = csv.DictWriter(file, names, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows({name: _csv(value) for name, value in row.items()} for row in flat)
        return file.getvalue()

    def terminal(self, wide: bool = False) -> RichTable:
        """Return the table for `rich` to print."""
        from rich.table import Table as RichTable
        from rich.text import Text

        notes = Text("\n".join(printable(note) for note in self.notes))
        view = RichTable(
            title=Text(printable(self.title)),
            title_justify="left",
            caption=notes if self.notes else None,
            caption_justify="left",
        )
        columns = self.shown(wide)
        for column in columns:
            view.add_column(
                Text(printable(column.heading)), justify="left" if column.left else "right"
            )
        for row in self.rows:
            view.add_row(
                *(
                    Text(printable(self.cell(row, c)), style="bold" if self.is_best(row, c) else "")
                    for c in columns
                )
            )
        return view


def number(value: Any) -> float:
    """Return the number a value is sorted by; the mean of an estimate or difference.

    NaN for missing values and for text.
    """
    if isinstance(value, Estimate | Difference):
        return value.mean
    if is_missing(value) or isinstance(value, str):
        return nan
    return float(value)


def is_missing(value: Any) -> bool:
    """Whether there is nothing to show: None, NaN, or an estimate of NaN."""
    if isinstance(value, Estimate | Difference):
        value = value.mean
    return value is None or (isinstance(value, float) and not isfinite(value))


# --- how values are shown -------------------------------------------------------------------


def estimate(value: Estimate) -> str:
    """Show a mean with half its interval.

    >>> estimate(Estimate(0.9, 0.0213))
    '0.900 ± 0.021'
    """
    return f"{value.mean:.3f}" if value.half is None else f"{value.mean:.3f} ± {value.half:.3f}"


def difference(value: Difference) -> str:
    """Show a difference with its interval and p-value, and an arrow where it is significant.

    >>> difference(Difference(-0.03, -0.05, -0.01, 0.002))
    '−0.030 [−0.050, −0.010], p = 0.002 ↓'
    """
    text = signed(value.mean)
    if isfinite(value.low):
        text += f" [{signed(value.low)}, {signed(value.high)}]"
    if isfinite(value.p):
        text += f", {p_value(value.p)}"
    if is_significant(value.p):
        text += " ↑" if value.mean > 0 else " ↓"
    return text


def signed(value: float) -> str:
    """Show a number with its sign and three digits.

    >>> signed(-0.0304)
    '−0.030'
    """
    return f"{value:+.3f}".replace("-", "−")


def p_value(value: float) -> str:
    """Show a p-value.

    >>> p_value(0.00012)
    'p < 0.001'
    """
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def seconds(value: float) -> str:
    """Show a duration in seconds with two or three digits.

    >>> seconds(0.1234), seconds(83.4)
    ('0.12', '83')
    """
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def thousands(count: float) -> str:
    """Show a whole number with spaces between thousands.

    >>> thousands(1465666)
    '1 465 666'
    """
    return f"{count:,.0f}".replace(",", " ")


def binary_size(count: float) -> str:
    """Show a number of bytes in binary units; in GiB from a tenth of one.

    >>> binary_size(768_320_000), binary_size(4.25 * 2**20), binary_size(512)
    ('0.72 GiB', '4.25 MiB', '0.50 KiB')
    """
    for unit, size, least in (("TiB", 2**40, 1.0), ("GiB", 2**30, 0.1), ("MiB", 2**20, 0.1)):
        if count >= least * size:
            return f"{count / size:.2f} {unit}"
    return f"{count / 2**10:.2f} KiB"


def printable(text: str) -> str:
    """Return text without newlines and other characters that move a cursor or hide themselves."""
    return "".join(c if c.isprintable() else " " for c in text)


# --- escaping -------------------------------------------------------------------------------


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in which estimates and differences are several numbers."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Estimate):
            flat |= {key: value.mean, f"{key}_half": value.half}
        elif isinstance(value, Difference):
            flat |= {key: value.mean, f"{key}_low": value.low, f"{key}_high": value.high}
            flat[f"{key}_p"] = value.p
        else:
            flat[key] = value
    return flat


def _bar(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def _markdown(text: str) -> str:
    text = re.sub(r"[&<>]", lambda match: _HTML[match[0]], printable(text))
    return re.sub(r"([\\`*_{}\[\]|~$])", r"\\\1", text)


_LATEX = {
    "\\": r"\textbackslash{}",
    **{c: rf"\{c}" for c in "{}$&#%_"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': "''",
    # at the start of a row a bracket would be an option of the \\ before it
    "[": "{[}",
    "]": "{]}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "≥": r"$\geq$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in printable(text))


def _csv(value: Any) -> str:
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    text = printable(str(value))
    # spreadsheets run text that starts like this as a formula
    return f"'{text}" if isinstance(value, str) and text[:1] in ("=", "+", "-", "@") else text

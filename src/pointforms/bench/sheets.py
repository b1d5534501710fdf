"""A table of text, and its forms: Markdown, LaTeX, CSV, terminal.

Names come from files and manifests of anybody, so every form escapes what it would interpret.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, Protocol

from rich.table import Table as RichTable
from rich.text import Text


class Cell(str):
    """Text of a table, bold or not."""

    bold: bool

    def __new__(cls, text: str, bold: bool = False) -> Cell:
        cell = super().__new__(cls, text)
        cell.bold = bold
        return cell


@dataclass(frozen=True)
class Sheet:
    """What a table shows.

    Attributes
    ----------
    title : str
    headings : one a column
    rows : cells as people read them
    notes : sentences under the table
    data : the same as numbers, for CSV; one mapping a row, all with the same keys
    left : so many columns, from the first, stand to the left, the others to the right
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    data: tuple[Mapping[str, Any], ...] = ()
    left: int = 1

    def sheet(self) -> Sheet:
        return self


class Tabular(Protocol):
    """What the functions below take."""

    def sheet(self) -> Sheet: ...


def make_sheet(
    title: str,
    columns: Mapping[str, Sequence[str]],
    notes: Sequence[str] = (),
    data: Sequence[Mapping[str, Any]] = (),
    left: int = 1,
) -> Sheet:
    """A sheet of columns by heading; those without any text are left out."""
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    rows = tuple(zip(*shown.values(), strict=True))
    return Sheet(title, tuple(shown), rows, tuple(notes), tuple(data), left)


def markdown(table: Tabular) -> str:
    """As a GitHub table, with its notes as a list."""
    sheet = table.sheet()
    marks = [":--" if i < sheet.left else "--:" for i in range(len(sheet.headings))]
    lines = [f"### {_markdown(sheet.title)}", ""]
    lines += [_bar(_markdown(heading) for heading in sheet.headings), _bar(marks)]
    for row in sheet.rows:
        lines.append(_bar(f"**{_markdown(c)}**" if _bold(c) else _markdown(c) for c in row))
    lines += ["", *(f"- {_markdown(note)}" for note in sheet.notes)]
    return "\n".join(lines).rstrip() + "\n"


def latex(table: Tabular) -> str:
    """As a table of LaTeX; the document needs the package booktabs."""
    sheet = table.sheet()
    aligned = "".join("l" if i < sheet.left else "r" for i in range(len(sheet.headings)))
    rows = [
        " & ".join(rf"\textbf{{{_latex(c)}}}" if _bold(c) else _latex(c) for c in row) + r" \\"
        for row in sheet.rows
    ]
    lines = [
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{_latex(sheet.title)}}}",
        rf"\begin{{tabular}}{{{aligned}}}",
        r"\toprule",
        " & ".join(_latex(heading) for heading in sheet.headings) + r" \\",
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\footnotesize {_latex(note)}" for note in sheet.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def csv_text(table: Tabular) -> str:
    """The numbers, unrounded, as CSV; what is not known is empty."""
    data = table.sheet().data
    if not data:
        return ""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(data[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _csv(value) for name, value in row.items()} for row in data)
    return file.getvalue()


def rich_table(table: Tabular) -> RichTable:
    """For the terminal."""
    sheet = table.sheet()
    notes = Text("\n".join(_plain(note) for note in sheet.notes))
    view = RichTable(
        title=Text(_plain(sheet.title)),
        title_justify="left",
        caption=notes if sheet.notes else None,
        caption_justify="left",
    )
    for i, heading in enumerate(sheet.headings):
        view.add_column(Text(_plain(heading)), justify="left" if i < sheet.left else "right")
    for row in sheet.rows:
        view.add_row(*(Text(_plain(c), style="bold" if _bold(c) else "") for c in row))
    return view


def binary_size(count: float) -> str:
    """Bytes in binary units, in GiB from a tenth of one, as the paper's table has it.

    >>> binary_size(768_320_000), binary_size(4.25 * 2**20), binary_size(512)
    ('0.72 GiB', '4.25 MiB', '0.50 KiB')
    """
    for unit, size, least in (("TiB", 2**40, 1.0), ("GiB", 2**30, 0.1), ("MiB", 2**20, 0.1)):
        if count >= least * size:
            return f"{count / size:.2f} {unit}"
    return f"{count / 2**10:.2f} KiB"


def thousands(count: int) -> str:
    """With spaces between thousands."""
    return f"{count:,}".replace(",", " ")


def _bold(cell: str) -> bool:
    return isinstance(cell, Cell) and cell.bold


def _plain(text: str) -> str:
    """Without newlines and other characters that move a cursor or hide themselves."""
    return "".join(c if c.isprintable() else " " for c in text)


def _bar(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def _markdown(text: str) -> str:
    text = re.sub(r"[&<>]", lambda found: _HTML[found[0]], _plain(text))
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
    return "".join(_LATEX.get(c, c) for c in _plain(text))


def _csv(value: Any) -> str:
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    text = _plain(str(value))
    # spreadsheets run text that starts like this as a formula
    return f"'{text}" if isinstance(value, str) and text[:1] in ("=", "+", "-", "@") else text

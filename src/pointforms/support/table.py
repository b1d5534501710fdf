"""One table type: it holds numbers, and turns them into text only when it is shown.

A :class:`Table` has typed columns and rows of values. It is rendered for a terminal, as Markdown,
LaTeX or CSV, and the HTML page reads the same columns and values. Names come from users' files, so
every form escapes what it would interpret.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from pointforms.support.formatting import escape_csv, escape_latex, escape_markdown, printable

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table as RichTable


#: Names of the text forms a table can take, apart from the terminal.
FORMS = ("markdown", "latex", "csv")


def number(value: Any) -> float:
    """Return the number by which a value is sorted; NaN for missing values and for text.

    A value of several numbers, such as an :class:`~pointforms.support.statistics.Estimate`, has a
    method `number` for this, and a method `parts` that names its numbers in CSV.

    Examples
    --------
    >>> from pointforms.support.statistics import Estimate
    >>> number(Estimate(0.9, 0.02)), number(3), number("text")
    (0.9, 3.0, nan)
    """
    if hasattr(value, "number"):
        return float(value.number())
    return nan if value is None or isinstance(value, str) else float(value)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    key : str
        The key of its values in a row; also its name in CSV.
    heading : str
        A column without a heading is written to CSV only.
    show : callable, default str
        Turns a value into text. It is not called for missing values, which are shown as nothing.
    value : callable, optional
        Reads the value from an item of :meth:`Table.of`. By default the attribute `key`.
    sort : callable, default number
        Turns a value into the number by which the HTML page sorts; NaN is sorted as text.
    left : bool, default False
        Align to the left, as for names.
    wide : bool, default False
        In a terminal, shown only when all columns are asked for.
    best : {"max", "min"}, optional
        Print the best values, after rounding, in bold.
    """

    key: str
    heading: str
    show: Callable[[Any], str] = str
    value: Callable[[Any], Any] | None = None
    sort: Callable[[Any], float] = number
    left: bool = False
    wide: bool = False
    best: str | None = None

    def read(self, item: Any) -> Any:
        """Return the value of an item in this column."""
        return getattr(item, self.key) if self.value is None else self.value(item)


Row = Mapping[str, Any]


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
    total : mapping, optional
        A last row of sums, which is set apart and not written to CSV.
    brief : sequence of str, optional
        Sentences below the narrow table in a terminal (default: the notes).

    Examples
    --------
    >>> from pointforms.support.formatting import estimate
    >>> from pointforms.support.statistics import Estimate
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
    rows: Sequence[Row]
    notes: Sequence[str] = field(default_factory=tuple)
    total: Row | None = None
    brief: Sequence[str] | None = None

    @classmethod
    def of(
        cls,
        title: str,
        columns: Sequence[Column],
        items: Iterable[Any],
        notes: Sequence[str] = (),
        total: Row | None = None,
    ) -> Table:
        """Return the table whose rows are what the columns read from items.

        Examples
        --------
        >>> columns = [Column("name", "name", value=str), Column("size", "size", value=len)]
        >>> print(Table.of("Words", columns, ["form", "cloud"]).csv())
        name,size
        form,4
        cloud,5
        <BLANKLINE>
        """
        read = {column.key: column for column in reversed(columns)}  # the first of a key reads
        keys = list(dict.fromkeys(column.key for column in columns))
        rows = [{key: read[key].read(item) for key in keys} for item in items]
        return cls(title, columns, rows, notes, total)

    def all_rows(self) -> list[Row]:
        """Return the rows, and the total as the last one."""
        return [*self.rows, *([] if self.total is None else [self.total])]

    def shown(self, wide: bool = True) -> list[Column]:
        """Return the columns to show: those with a value, and the wide ones if asked for."""
        return [
            column
            for column in self.columns
            if column.heading
            and (wide or not column.wide)
            and any(self.cell(row, column) for row in self.all_rows())
        ]

    def cell(self, row: Row, column: Column) -> str:
        """Return the text of one cell; empty where the value is missing."""
        value = row.get(column.key)
        return "" if is_missing(value) else column.show(value)

    def sort_key(self, row: Row, column: Column) -> float | None:
        """Return the number by which one cell is sorted; None for text and missing values."""
        value = row.get(column.key)
        key = nan if is_missing(value) else column.sort(value)
        return key if isfinite(key) else None

    def is_best(self, row: Row, column: Column) -> bool:
        """Whether a cell is among the best of its column, as it is printed."""
        if column.best is None or is_missing(row.get(column.key)):
            return False
        choose = max if column.best == "max" else min
        values = [row.get(column.key) for row in self.rows]
        best = choose(number(value) for value in values if not is_missing(value))
        return round(number(row.get(column.key)), 3) == round(best, 3)

    def render(self, form: str, wide: bool = True) -> str:
        """Return the table as text in one of :data:`FORMS`."""
        if form == "csv":
            return self.csv()
        return {"markdown": self.markdown, "latex": self.latex}[form](wide)

    def markdown(self, wide: bool = True) -> str:
        """Return a GitHub table under a heading, with the notes as a list."""
        columns = self.shown(wide)
        lines = [f"### {escape_markdown(self.title)}", ""]
        lines.append(_bar(escape_markdown(column.heading) for column in columns))
        lines.append(_bar(":--" if column.left else "--:" for column in columns))
        for row in self.all_rows():
            cells = [(escape_markdown(self.cell(row, c)), self.is_best(row, c)) for c in columns]
            lines.append(_bar(f"**{text}**" if best else text for text, best in cells))
        lines += ["", *(f"- {escape_markdown(note)}" for note in self.notes)]
        return "\n".join(lines).rstrip() + "\n"

    def latex(self, wide: bool = True) -> str:
        """Return a LaTeX table, which needs the package booktabs."""
        columns = self.shown(wide)

        def line(row: Row) -> str:
            cells = [(escape_latex(self.cell(row, c)), self.is_best(row, c)) for c in columns]
            texts = (rf"\textbf{{{text}}}" if best else text for text, best in cells)
            return " & ".join(texts) + r" \\"

        aligned = "".join("l" if column.left else "r" for column in columns)
        lines = [
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{escape_latex(self.title)}}}",
            rf"\begin{{tabular}}{{{aligned}}}",
            r"\toprule",
            " & ".join(escape_latex(column.heading) for column in columns) + r" \\",
            r"\midrule",
            *map(line, self.rows),
            *([] if self.total is None else [r"\midrule", line(self.total)]),
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\footnotesize {escape_latex(note)}" for note in self.notes),
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
        writer.writerows({name: escape_csv(value) for name, value in row.items()} for row in flat)
        return file.getvalue()

    def terminal(self, wide: bool = False) -> Group:
        """Return the title, the table and its notes for `rich` to print.

        Parameters
        ----------
        wide : bool, default False
            Whether to show the columns that are marked as wide, and all notes.
        """
        from rich.console import Group
        from rich.text import Text

        title = Text(printable(self.title), style="italic")
        sentences = self.notes if wide or self.brief is None else self.brief
        notes = [Text(printable(sentence)) for sentence in sentences]
        return Group(title, self._grid(wide), *([Text(), *notes] if notes else []))

    def _grid(self, wide: bool) -> RichTable:
        """The table itself. Numbers stay in one piece; names and headings may be wrapped."""
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        columns = self.shown(wide)
        grid = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column in columns:
            width = max((len(self.cell(row, column)) for row in self.all_rows()), default=0)
            heading = printable(column.heading)
            lines = wrap(heading, max(width, *map(len, heading.split())))
            grid.add_column(
                Text("\n".join(lines)),
                justify="left" if column.left else "right",
                no_wrap=not column.left and not wide,
            )
        for row in self.all_rows():
            if row is self.total:
                grid.add_section()
            styles = ["bold" if self.is_best(row, column) else "" for column in columns]
            texts = [printable(self.cell(row, column)) for column in columns]
            grid.add_row(*(Text(t, style=s) for t, s in zip(texts, styles, strict=True)))
        return grid


def is_missing(value: Any) -> bool:
    """Whether there is nothing to show: None, NaN, or an estimate of NaN."""
    if hasattr(value, "number"):
        value = value.number()
    return value is None or (isinstance(value, float) and not isfinite(value))


def _flat(row: Row) -> dict[str, Any]:
    """A row in which values of several numbers have one entry per number."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        flat |= value.parts(key) if hasattr(value, "parts") else {key: value}
    return flat


def _bar(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"

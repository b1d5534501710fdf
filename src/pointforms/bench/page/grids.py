"""Tables of the page: cells with what they are sorted by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from pointforms.bench.sheets import Cell, Sheet
from pointforms.bench.tables import OURS

DIFFERENCE = f"difference to {OURS}"
# Headings of a table of results, and the number behind each.
_RESULTS = {
    "AUROC": "auroc",
    "paper": "paper",
    "accuracy": "accuracy",
    "log loss": "log_loss",
    "parameters": "parameters_most",
    "s / fit": "seconds",
    "s / epoch": "epoch_seconds",
    "peak memory": "memory",
    "folds × seeds": "fits",
    "failed": "failed",
}


@dataclass(frozen=True)
class GridCell:
    """Text, and the number that it is sorted by; None for text and for what is not known."""

    text: str
    key: float | None = None
    bold: bool = False


@dataclass(frozen=True)
class GridRow:
    """A row of a table, and what the filters know it by.

    Attributes
    ----------
    model, task : what filters look at; empty where they do not
    mark : "ours" for NPF (selected), "family" for other point-forms, "total" for a sum
    """

    cells: tuple[GridCell, ...]
    model: str = ""
    task: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Grid:
    """A table that can be sorted.

    Attributes
    ----------
    title : for those who do not see the page
    headings : one a column
    numbers : for each column, whether it holds numbers
    """

    title: str
    headings: tuple[str, ...]
    numbers: tuple[bool, ...]
    rows: tuple[GridRow, ...]


def make_grid(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str | tuple[str, float | None]]],
    left: int = 1,
) -> Grid:
    """A grid of texts, or of pairs (text, number) where columns are sorted by numbers."""
    made = tuple(
        GridRow(tuple(GridCell(c) if isinstance(c, str) else GridCell(*c) for c in row))
        for row in rows
    )
    return Grid(title, tuple(headings), tuple(i >= left for i in range(len(headings))), made)


def number(value: Any) -> float | None:
    """A finite number, or None."""
    return float(value) if value is not None and isfinite(value) else None


def result_grid(sheet: Sheet, marks: Sequence[str]) -> Grid:
    """A table of results, with a column each for a difference, its interval and its p."""
    names = [str(row["model"]) for row in sheet.data]
    tasks = [sheet.title] * len(names)
    return _split(
        sheet_grid(sheet, _RESULTS | {DIFFERENCE: "difference"}, names, tasks, marks), sheet
    )


def _split(grid: Grid, sheet: Sheet) -> Grid:
    if DIFFERENCE not in grid.headings:
        return grid
    at = grid.headings.index(DIFFERENCE)
    rows = []
    for row, data in zip(grid.rows, sheet.data, strict=True):
        low, high = number(data["difference_low"]), number(data["difference_high"])
        p = number(data["p_holm"])
        span = "" if low is None or high is None else f"[{signed(low)}, {signed(high)}]"
        told = "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
        text = row.cells[at].text
        cells = (
            GridCell("" if not text else signed(data["difference"]), row.cells[at].key),
            GridCell(span, low),
            GridCell(f"{told}{text[-2:]}" if text.endswith(("↑", "↓")) else told, p),
        )
        rows.append(replace(row, cells=row.cells[:at] + cells + row.cells[at + 1 :]))
    headings = (DIFFERENCE, "95 % interval", "adjusted p")
    return Grid(
        grid.title,
        grid.headings[:at] + headings + grid.headings[at + 1 :],
        grid.numbers[:at] + (True,) * 3 + grid.numbers[at + 1 :],
        tuple(rows),
    )


def signed(value: float, form: str = ".3f") -> str:
    """With its sign, and a minus that is as wide as a plus."""
    return f"{value:+{form}}".replace("-", "−")


def sheet_grid(
    sheet: Sheet,
    numbers: Mapping[str, str],
    models: Sequence[str],
    tasks: Sequence[str],
    marks: Sequence[str],
) -> Grid:
    """A sheet with the numbers behind its columns.

    Parameters
    ----------
    numbers : heading -> the name of the number in the sheet's data
    models, tasks, marks : one a row, as in :class:`GridRow`
    """
    keys = [numbers.get(heading) for heading in sheet.headings]
    data: list[Mapping[str, Any]] = [*sheet.data]
    data += [{}] * (len(sheet.rows) - len(data))  # a sum has no data
    rows = []
    for i, texts in enumerate(sheet.rows):
        cells = tuple(
            GridCell(
                str(text),
                None if key is None else number(data[i].get(key)),
                isinstance(text, Cell) and text.bold,
            )
            for text, key in zip(texts, keys, strict=True)
        )
        rows.append(GridRow(cells, models[i], tasks[i], marks[i]))
    left = tuple(i >= sheet.left for i in range(len(sheet.headings)))
    return Grid(sheet.title, sheet.headings, left, tuple(rows))

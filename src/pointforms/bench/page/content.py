"""What the page says, gathered from records before anything is drawn."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from pointforms import tasks
from pointforms._version import __version__
from pointforms.bench import tables
from pointforms.bench.lines import is_simulated, size_title
from pointforms.bench.page.configuration import manifest_text, options_text, other_defaults
from pointforms.bench.page.grids import (
    Grid,
    GridCell,
    GridRow,
    make_grid,
    result_grid,
    sheet_grid,
)
from pointforms.bench.page.headlines import Headline, headline
from pointforms.bench.plan import span
from pointforms.bench.records import Record, Row, Size
from pointforms.bench.sheets import Sheet
from pointforms.bench.store import Run
from pointforms.bench.tables import OURS, ResultTable
from pointforms.models import MODELS

_RECORDED = ("japanese-vowels",)
# Different failures that are listed; the store has them all.
_MOST_FAILURES = 200


@dataclass(frozen=True)
class TaskResult:
    """A task: its outcome, its table, and the lines behind both."""

    title: str
    origin: str
    headline: Headline
    table: ResultTable
    grid: Grid
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """Fits of a row that failed with the same last line of their tracebacks."""

    task: str
    model: str
    options: str
    message: str
    fits: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Content:
    """Everything on the page that comes from fits.

    Attributes
    ----------
    facts : (name, value) of the summary
    overview : AUROC of every model on every task; None for a single task
    fits : columns of numbers, one entry a finished fit, and the rows they belong to
    """

    title: str
    written: str
    version: str
    facts: tuple[tuple[str, str], ...]
    origin: str
    tasks: tuple[TaskResult, ...]
    overview: Grid | None
    failures: tuple[Failure, ...]
    failures_left_out: int
    costs: Grid
    cost_notes: tuple[str, ...]
    runs: Grid
    fits: dict[str, Any]
    manifest: str
    changed: int


def gather(
    records: Sequence[Record], rows: Iterable[Row], runs: Sequence[Run], title: str
) -> Content:
    """The content of a page; parameters as in :func:`write_report`."""
    rows = list(rows)
    found = [_task_result(one) for one in tables.tables(records, rows)]
    used = sorted({record.row for record in records}, key=lambda row: row.key)
    listed, left_out = _failures(records)
    cost = tables.costs(records, [(run.wall, run.workers) for run in runs])
    sheet = cost.sheet()
    return Content(
        title=title,
        written=time.strftime("%Y-%m-%d %H:%M"),
        version=__version__,
        facts=_facts(records, rows, runs, found),
        origin=_origins(found),
        tasks=tuple(found),
        overview=_overview(found) if len(found) > 1 else None,
        failures=listed,
        failures_left_out=left_out,
        costs=_cost_grid(sheet, cost.lines),
        cost_notes=sheet.notes,
        runs=_run_grid(runs),
        fits=_fit_columns(records, used),
        manifest=manifest_text(title, records),
        changed=len(other_defaults(used)),
    )


def origin(size: Size) -> str:
    """Where a task's clouds are from."""
    if is_simulated(size):
        return "simulated cells"
    if size.task in _RECORDED:
        return "recorded data"
    if size.task in tasks.names():
        return "simulated"
    return "" if size.content is None else "data of the user"


def _task_result(result: ResultTable) -> TaskResult:
    sheet = result.sheet()
    first = result.reference
    grid = result_grid(
        sheet, ["ours" if line is first else "family" * line.ours for line in result.lines]
    )
    where = origin(result.size)
    return TaskResult(result.title, where, headline(result, sheet), result, grid, sheet.notes)


def _origins(found: Sequence[TaskResult]) -> str:
    """Where all clouds are from, in a sentence."""
    simulated = [one.title for one in found if one.origin.startswith("simulated")]
    if not simulated:
        return ""
    if len(simulated) == len(found):
        return "All data on this page are simulated."
    return f"Simulated data: {', '.join(simulated)}."


def _facts(
    records: Sequence[Record], rows: Sequence[Row], runs: Sequence[Run], found: Sequence[TaskResult]
) -> tuple[tuple[str, str], ...]:
    failed = sum(record.error is not None for record in records)
    known = {record.row for record in records}
    hours = sum(r.seconds for r in records if isfinite(r.seconds))
    facts = [
        ("tasks", f"{len(found)}"),
        ("models", f"{len({row.model for row in known})}"),
        ("configurations", f"{len(known)}"),
        ("fits finished", _count(len(records) - failed)),
        ("fits failed", _count(failed)),
        ("time of fits", span(hours)),
    ]
    waiting = len(set(rows) - known)
    facts += [("configurations without a fit", f"{waiting}")] * (waiting > 0)
    facts += [("wall time of runs", span(sum(run.wall for run in runs)))] * bool(runs)
    return tuple(facts)


def _count(value: int) -> str:
    return f"{value:,}".replace(",", "\u202f")


def _overview(found: Sequence[TaskResult]) -> Grid:
    """AUROC of every model on every task, NPF (selected) first."""
    cells: dict[str, dict[int, GridCell]] = {}
    marks: dict[str, str] = {}
    for i, one in enumerate(found):
        column = one.grid.headings.index("AUROC") if "AUROC" in one.grid.headings else None
        for line, row in zip(one.table.lines, one.grid.rows, strict=True):
            marks[line.title] = row.mark
            # a model whose rows are listed singly has no one number
            alone = sum(other.title == line.title for other in one.table.lines) == 1
            if column is not None and alone:
                cells.setdefault(line.title, {})[i] = row.cells[column]
    known = (OURS, *(model.title for model in MODELS.values()))
    order = [name for name in known if name in cells]
    order += [name for name in cells if name not in order]
    rows = tuple(
        GridRow(
            (GridCell(name), *(cells[name].get(i, GridCell("")) for i in range(len(found)))),
            model=name,
            mark=marks[name],
        )
        for name in order
    )
    headings = ("model", *(one.title for one in found))
    return Grid(
        "AUROC of every model on every task", headings, (False,) + (True,) * len(found), rows
    )


def _failures(records: Sequence[Record]) -> tuple[tuple[Failure, ...], int]:
    """Failures by row and message, and how many more there are."""
    groups: dict[tuple[Row, str], list[tuple[int, int]]] = {}
    for record in records:
        if record.error is not None:
            told = record.error.strip().splitlines()
            key = record.row, told[-1].strip() if told else "no message"
            groups.setdefault(key, []).append((record.fold, record.seed))
    listed = [
        Failure(size_title(row.size), row.title, options_text(row.options), message, tuple(fits))
        for (row, message), fits in groups.items()
    ]
    return tuple(listed[:_MOST_FAILURES]), max(0, len(listed) - _MOST_FAILURES)


def _cost_grid(sheet: Sheet, lines: Sequence[tuple[Any, ...]]) -> Grid:
    numbers = {"rows": "rows", "fits": "fits", "failed": "failed", "fit hours": "fit_hours"}
    return sheet_grid(
        sheet,
        numbers,
        models=[*(line[1] for line in lines), ""],
        tasks=[*(line[0] for line in lines), ""],
        marks=[*("" for _ in lines), "total"],
    )


def _run_grid(runs: Sequence[Run]) -> Grid:
    return make_grid(
        "Runs",
        ("run", "what", "state", "engine", "machine", "version", "started", "workers", "wall time"),
        [
            (
                (str(run.id), float(run.id)),
                run.title,
                run.state,
                run.engine,
                run.machine,
                run.version,
                time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started)),
                (str(run.workers), float(run.workers)),
                (span(run.wall), run.wall),
            )
            for run in runs
        ],
        left=7,
    )


def _fit_columns(records: Sequence[Record], rows: Sequence[Row]) -> dict[str, Any]:
    """Fits as columns of rounded numbers: ten thousand take a few hundred kB."""
    titles = sorted({size_title(row.size) for row in rows})
    families = {row.title: _family(row) for row in rows}
    names = sorted(families)
    index = {row: i for i, row in enumerate(rows)}
    done = [record for record in records if record.error is None]
    return {
        "tasks": titles,
        "models": names,
        "families": [families[name] for name in names],
        "rows": {
            "task": [titles.index(size_title(row.size)) for row in rows],
            "model": [names.index(row.title) for row in rows],
            "options": [options_text(row.options) for row in rows],
            "settings": [row.digest for row in rows],
        },
        "row": [index[record.row] for record in done],
        "fold": [record.fold for record in done],
        "seed": [record.seed for record in done],
        "auroc": [_rounded(record.auroc, 4) for record in done],
        "seconds": [_digits(record.seconds) for record in done],
        "parameters": [record.parameters for record in done],
    }


def _family(row: Row) -> str:
    return MODELS[row.model].family if row.model in MODELS else "other"


def _rounded(value: float, digits: int) -> float | None:
    return round(float(value), digits) if isfinite(value) else None


def _digits(value: float) -> float | None:
    """Three digits that count."""
    return float(f"{value:.3g}") if isfinite(value) else None

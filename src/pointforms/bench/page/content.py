"""What the page says, gathered from records before anything is drawn."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from pointforms import tasks
from pointforms._version import __version__
from pointforms.bench.across_tasks import across_tasks_table
from pointforms.bench.comparison import OURS, Comparison, ModelResult, Published, compare
from pointforms.bench.costs import costs_table, runs_table
from pointforms.bench.page.configuration import (
    file_names,
    manifest_text,
    options_text,
    other_defaults,
)
from pointforms.bench.page.headlines import Headline, headline
from pointforms.bench.records import Record, Row, Size
from pointforms.bench.results_table import results_table
from pointforms.bench.run_history import Run
from pointforms.io.file_summary import shown_names
from pointforms.models import MODELS
from pointforms.support.formatting import duration, estimate, thousands
from pointforms.support.table import Column, Table

# Number of different failures that are listed; the store has them all.
_MOST_FAILURES = 200


@dataclass(frozen=True)
class TaskResult:
    """One task: its outcome, and the comparison behind it as a table.

    Attributes
    ----------
    title : str
    origin : str
        Where the clouds come from.
    headline : Headline
    comparison : Comparison
    table : Table
    marks : tuple of str
        How each row of the table is marked: "ours" for the reference, "family" for point-forms.
    """

    title: str
    origin: str
    headline: Headline
    comparison: Comparison
    table: Table
    marks: tuple[str, ...]


def gather(
    records: Sequence[Record],
    rows: Iterable[Row],
    runs: Sequence[Run],
    title: str,
    published: Published | None = None,
    reference: str | None = None,
) -> dict[str, Any]:
    """Return everything on the page that comes from fits, by the names in `body.html`.

    See :func:`~pointforms.bench.page.document.write_report` for the arguments.
    """
    rows = list(rows)
    comparisons = compare(records, rows, published=published, reference=reference)
    results = [_task_result(one) for one in comparisons]
    used = sorted({record.row for record in records}, key=lambda row: row.key)
    names = {one.size: one.title for one in comparisons}
    failures = _failures(records, names)
    overview, marks = _overview(results) if len(results) > 1 else (None, ())
    return {
        "title": title,
        "written": time.strftime("%Y-%m-%d %H:%M"),
        "version": __version__,
        "facts": _facts(records, rows, runs, results),
        "origin": _origins(results),
        "tasks": results,
        # what a model that is tested against the reference is called
        "noun": comparisons[0].noun,
        # AUROC of every model on every task; None for a single task
        "overview": overview,
        "overview_marks": marks,
        # mean ranks and differences; None for a single task
        "across": across_tasks_table(comparisons) if len(results) > 1 else None,
        "failures": failures[:_MOST_FAILURES],
        "failures_left_out": max(0, len(failures) - _MOST_FAILURES),
        "costs": costs_table(records, [(run.wall, run.workers) for run in runs]),
        "runs": runs_table(runs),
        "fits": _fit_columns(records, used, names),
        "manifest": manifest_text(title, records),
        # the files beside which it has to be saved
        "files": shown_names(file_names(used)),
        # configurations whose defaults have changed since they were fitted
        "changed": len(other_defaults(used)),
    }


def origin(size: Size) -> str:
    """Return where the clouds of a task come from, in a word or two."""
    if size.is_simulated:
        return "simulated cells"
    if size.task in tasks.names():
        return "recorded data" if tasks.entry(size.task).recorded else "simulated"
    return "" if size.content is None else "data of the user"


def _task_result(comparison: Comparison) -> TaskResult:
    marks = tuple(_mark(comparison, model) for model in comparison.listed)
    return TaskResult(
        comparison.title,
        origin(comparison.size),
        headline(comparison),
        comparison,
        results_table(comparison),
        marks,
    )


def _mark(comparison: Comparison, model: ModelResult) -> str:
    return "ours" if model is comparison.reference else "family" if model.ours else ""


def _origins(results: Sequence[TaskResult]) -> str:
    """Where all clouds come from, in a sentence."""
    simulated = [one.title for one in results if one.origin.startswith("simulated")]
    if not simulated:
        return ""
    if len(simulated) == len(results):
        return "All data on this page are simulated."
    return f"Simulated data: {', '.join(simulated)}."


def _facts(
    records: Sequence[Record],
    rows: Sequence[Row],
    runs: Sequence[Run],
    results: Sequence[TaskResult],
) -> dict[str, str]:
    """What the summary lists."""
    failed = sum(record.error is not None for record in records)
    known = {record.row for record in records}
    seconds = sum(r.seconds for r in records if isfinite(r.seconds))
    facts = {
        "tasks": f"{len(results)}",
        "models": f"{len({row.model for row in known})}",
        "configurations": f"{len(known)}",
        "fits finished": thousands(len(records) - failed),
        "fits failed": thousands(failed),
        "time of fits": duration(seconds),
    }
    waiting = len(set(rows) - known)
    if waiting:
        facts["configurations without a fit"] = f"{waiting}"
    if runs:
        facts["wall time of runs"] = duration(sum(run.wall for run in runs))
    return facts


def _overview(results: Sequence[TaskResult]) -> tuple[Table, tuple[str, ...]]:
    """AUROC of every model on every task, the reference first, and the marks of its rows."""
    rows: dict[str, dict[str, Any]] = {}
    marks: dict[str, str] = {}
    for i, result in enumerate(results):
        models = result.comparison.models
        titles = [model.title for model in models]
        for model in models:
            if titles.count(model.title) == 1:  # rows that are listed singly have no one number
                row = rows.setdefault(model.title, {"model": model.title})
                row[f"task {i}"] = model.summary("auroc")
                marks[model.title] = _mark(result.comparison, model)
    first = results[0].comparison.reference_title
    known = (first, OURS, *(model.title for model in MODELS.values()))
    order = [title for title in dict.fromkeys(known) if title in rows]
    order += [title for title in rows if title not in order]
    columns = [Column("model", "model", left=True)]
    columns += [
        Column(f"task {i}", result.title, estimate, best="max") for i, result in enumerate(results)
    ]
    table = Table("AUROC of every model on every task", columns, [rows[title] for title in order])
    return table, tuple(marks[title] for title in order)


def _failures(records: Sequence[Record], names: Mapping[Size, str]) -> list[dict[str, Any]]:
    """Failures by row and last line of the traceback."""
    groups: dict[tuple[Row, str], list[tuple[int, int]]] = {}
    for record in records:
        if record.error is not None:
            lines = record.error.strip().splitlines()
            key = record.row, lines[-1].strip() if lines else "no message"
            groups.setdefault(key, []).append((record.fold, record.seed))
    return [
        {
            "task": names[row.size],
            "model": row.title,
            "options": options_text(row.options),
            "message": message,
            "fits": fits,
        }
        for (row, message), fits in groups.items()
    ]


def _fit_columns(
    records: Sequence[Record], rows: Sequence[Row], task_names: Mapping[Size, str]
) -> dict[str, Any]:
    """Fits as columns of rounded numbers: ten thousand take a few hundred kB."""
    titles = sorted({task_names[row.size] for row in rows})
    families = {row.title: _family(row) for row in rows}
    names = sorted(families)
    index = {row: i for i, row in enumerate(rows)}
    done = [record for record in records if record.error is None]
    return {
        "tasks": titles,
        "models": names,
        "families": [families[name] for name in names],
        "rows": {
            "task": [titles.index(task_names[row.size]) for row in rows],
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
    """A number with three significant digits."""
    return float(f"{value:.3g}") if isfinite(value) else None

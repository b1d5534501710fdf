"""What experiments cost: the time of fits, and the time of the runs that trained them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from pointforms.bench.records import Record, titles
from pointforms.bench.run_history import Run
from pointforms.support.formatting import duration
from pointforms.support.table import Column, Table

_COUNTS = ("rows", "fits", "failed", "fit_hours")
_COST_COLUMNS = (
    Column("task", "task", left=True),
    Column("model", "model", left=True),
    Column("rows", "rows"),
    Column("fits", "fits"),
    Column("failed", "failed"),
    Column("fit_hours", "fit hours", "{:.3f}".format),
)


def costs_table(records: Iterable[Record], runs: Sequence[tuple[float, int]] = ()) -> Table:
    """Return the time that was spent on fits, by task and model.

    Parameters
    ----------
    records : iterable of Record
        Fits, in any order.
    runs : sequence of pairs (wall seconds, workers), default ()
        The runs that trained them. With runs, a note compares the time of fits with the time that
        was allocated: wall time × workers.

    Examples
    --------
    >>> from pointforms.bench.records import Row
    >>> fits = [Record(Row("colocated", "mlp"), fold, 0, seconds=36.0) for fold in range(2)]
    >>> print(costs_table(fits).csv())
    task,model,rows,fits,failed,fit_hours
    colocated,MLP,1,2,0,0.02
    <BLANKLINE>
    """
    records = list(records)
    names = titles(record.row.size for record in records)
    by_model: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        by_model.setdefault((names[record.row.size], record.row.title), []).append(record)
    rows: list[dict[str, Any]] = [
        {
            "task": task,
            "model": model,
            "rows": len({record.row for record in fits}),
            "fits": len(fits),
            "failed": sum(record.error is not None for record in fits),
            "fit_hours": sum(r.seconds for r in fits if isfinite(r.seconds)) / 3600,
        }
        for (task, model), fits in sorted(by_model.items())
    ]
    total: dict[str, Any] = {key: sum(row[key] for row in rows) for key in _COUNTS}
    total["task"] = "all"
    notes = [
        "Fit hours sum the time of single fits, including failed ones where it is known. They "
        "measure the work, not the bill: more workers than cores make every fit longer."
    ]
    allocated = sum(wall * workers for wall, workers in runs) / 3600
    if allocated > 0:
        spent = total["fit_hours"]
        notes.insert(
            0,
            f"Allocated: {allocated:.3f} worker hours (wall time × workers) in {len(runs)} "
            f"run{'s' * (len(runs) != 1)}. Fits took {spent:.3f} hours, {spent / allocated:.0%} "
            "of it.",
        )
    return Table("Costs", _COST_COLUMNS, rows, notes, total)


_RUN_COLUMNS = (
    Column("run", "run", value=lambda run: run.id),
    Column("title", "title", left=True),
    Column("state", "state", left=True),
    Column("engine", "engine", left=True),
    Column("machine", "machine", left=True, wide=True),
    Column("version", "version", left=True, wide=True),
    Column(
        "started",
        "started",
        lambda at: time.strftime("%Y-%m-%d %H:%M", time.localtime(at)),
        left=True,
    ),
    Column("workers", "workers"),
    Column("wall", "wall time", duration),
)


def runs_table(runs: Sequence[Run]) -> Table:
    """Return the runs of a store as a table.

    Parameters
    ----------
    runs : sequence of Run
        The runs, as :meth:`Store.runs` returns them.

    Examples
    --------
    >>> runs_table([]).title
    'Runs'
    """
    return Table.of("Runs", _RUN_COLUMNS, runs)

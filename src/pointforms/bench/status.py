"""What a store holds, by task and model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import isfinite

from pointforms.bench.records import Record
from pointforms.support.table import Column, Table

_COLUMNS = (
    Column("task", "task", left=True),
    Column("model", "model", left=True),
    Column("rows", "rows"),
    Column("fits", "fits"),
    Column("failed", "failed"),
    Column("hours", "hours", "{:.2f}".format),
)


def status_table(records: Sequence[Record]) -> Table:
    """Return a table of how many rows and fits there are, per task and model.

    Hours are those of the fits that succeeded.
    """
    by_model: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        by_model.setdefault((record.row.task, record.row.model), []).append(record)
    rows = [
        {
            "task": task,
            "model": model,
            "rows": len({record.row for record in group}),
            "fits": len(group),
            "failed": sum(record.error is not None for record in group),
            "hours": sum(
                record.seconds
                for record in group
                if record.error is None and isfinite(record.seconds)
            )
            / 3600,
        }
        for (task, model), group in sorted(by_model.items())
    ]
    return Table(f"{len(records)} fits", _COLUMNS, rows)


def frequent_errors(records: Sequence[Record], most: int = 5) -> list[tuple[str, int]]:
    """Return the last lines of the most frequent errors, each with its count."""
    messages = (record.error.strip().splitlines()[-1] for record in records if record.error)
    return Counter(messages).most_common(most)

"""What experiments cost: the time of fits, and the time that was allocated for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

from pointforms.bench.lines import size_title
from pointforms.bench.records import Record
from pointforms.bench.sheets import Sheet, make_sheet


@dataclass(frozen=True)
class CostTable:
    """What was spent: the time of fits by task and model, and the time that was allocated.

    Attributes
    ----------
    lines : (task, model, rows, fits, failed, hours)
    runs : (wall seconds, workers)
    """

    lines: tuple[tuple[str, str, int, int, int, float], ...]
    runs: tuple[tuple[float, int], ...]

    @property
    def fit_hours(self) -> float:
        """Summed over fits: how much work there was."""
        return sum(line[-1] for line in self.lines)

    @property
    def allocated_hours(self) -> float:
        """Wall time × workers: what had to be reserved."""
        return sum(wall * workers for wall, workers in self.runs) / 3600

    def sheet(self) -> Sheet:
        listed = zip(*self.lines, strict=True) if self.lines else [()] * 6
        tasks, models, rows, fits, failed, hours = listed
        columns = {
            "task": [*tasks, "all"],
            "model": [*models, ""],
            "rows": [str(count) for count in (*rows, sum(rows))],
            "fits": [str(count) for count in (*fits, sum(fits))],
            "failed": [str(count) for count in (*failed, sum(failed))],
            "fit hours": [f"{value:.3f}" for value in (*hours, sum(hours))],
        }
        notes = []
        if self.allocated_hours > 0:
            notes.append(
                f"Allocated: {self.allocated_hours:.3f} worker hours, wall time × workers over "
                f"all runs ({len(self.runs)}). Fits took {self.fit_hours:.3f} hours, "
                f"{self.fit_hours / self.allocated_hours:.0%} of it."
            )
        notes.append(
            "Fit hours sum the time of single fits, failed ones where it is known. They measure "
            "the work, not the bill: more workers than cores make every fit longer."
        )
        names = ("task", "model", "rows", "fits", "failed", "fit_hours")
        data = [dict(zip(names, line, strict=True)) for line in self.lines]
        return make_sheet("Costs", columns, notes, data, left=2)


def costs(records: Iterable[Record], runs: Iterable[tuple[float, int]] = ()) -> CostTable:
    """The cost of fits by task and model, and of runs, each (wall seconds, workers)."""
    by_model: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        key = size_title(record.row.size), record.row.title
        by_model.setdefault(key, []).append(record)
    lines = []
    for (task, title), found in sorted(by_model.items()):
        failed = sum(record.error is not None for record in found)
        hours = sum(r.seconds for r in found if isfinite(r.seconds)) / 3600
        rows = len({record.row for record in found})
        lines.append((task, title, rows, len(found), failed, hours))
    return CostTable(tuple(lines), tuple(runs))

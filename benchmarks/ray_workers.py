"""The same sweep on a local Ray with one worker and with two: time, and equal results."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.tables import Results
from pointforms.bench import RayEngine, Record, Store, read_manifest, run
from pointforms.bench.records import Unit

# The row of this model on these tasks that has default options, with all its folds and seeds.
_TASKS, _MODEL = (
    ("circles-vs-lines", "concentric-circles", "parallel-lines", "colocated"),
    "npf-tri-1",
)
# Two workers should be at least this many times as fast as one, with what Ray takes to start.
_FASTER = 1.6


def units() -> list[Unit]:
    """Return a sweep of 20 units of equal size."""
    wanted = {(task, _MODEL) for task in _TASKS}
    every = read_manifest("synthetic-primary").units()
    return [u for u in every if (u.row.task, u.row.model) in wanted and not u.row.options]


def trained(workers: int, path: Path) -> tuple[float, list[Record]]:
    """Train the sweep, and return the wall time and the fits."""
    with Store(path) as store:
        outcome = run(units(), store, RayEngine(workers=workers), "Ray")
        if outcome.failed:
            raise RuntimeError(f"{outcome.failed} fits failed")
        return outcome.seconds, store.records()


def equal(one: Record, other: Record) -> bool:
    """Return whether two fits ended with the same predictions, to the last digit."""
    assert one.probabilities is not None
    assert other.probabilities is not None
    same = np.array_equal(one.probabilities, other.probabilities)
    return same and one.validation_loss == other.validation_loss


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results("One sweep on a local Ray")
    with tempfile.TemporaryDirectory() as folder:
        (alone, first), (together, second) = (
            trained(workers, Path(folder) / f"{workers}.db") for workers in (1, 2)
        )
    fits = [{(r.row, r.fold, r.seed): r for r in records} for records in (first, second)]
    same = sum(equal(record, fits[1][key]) for key, record in fits[0].items())
    case = f"{len(first)} fits of {_MODEL} on {len(_TASKS)} tasks"
    results.note(case, "one worker, seconds", f"{alone:.0f}")
    results.note(case, "two workers, seconds", f"{together:.0f}")
    results.add(case, "one worker / two workers", alone / together, _FASTER, lower=False)
    results.add(case, "fits that are equal, share", same / len(first), 1.0, lower=False)
    results.print()
    return results.missed

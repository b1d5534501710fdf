"""What a manifest amounts to before it is run: rows, fits, and an estimate of the time."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from pointforms.bench.manifest import Manifest
from pointforms.bench.records import Row
from pointforms.models.options import default
from pointforms.support.formatting import duration
from pointforms.support.table import Column, Table
from pointforms.tasks.catalogue import full_size

Measured = Mapping[tuple[str, str], float]
_TYPICAL_TASK, _OTHER_MODELS = "circles-vs-lines", "other models"


@dataclass(frozen=True)
class PlanLine:
    """One model on one task.

    Attributes
    ----------
    task, model : str
    rows, fits : int
        Number of rows, and of their fits.
    done : int
        Number of fits that are already in the store.
    left : int
        Number of fits that will be trained. A unit with a missing fit is trained as a whole.
    seconds : float
        Estimated time of the fits that are left.
    measured : bool
        Whether the estimate comes from fits of this model on this task; otherwise it is a guess.
    """

    task: str
    model: str
    rows: int = 0
    fits: int = 0
    done: int = 0
    left: int = 0
    seconds: float = 0.0
    measured: bool = False


@dataclass(frozen=True)
class Plan:
    """The rows, fits and estimated times of a manifest.

    Attributes
    ----------
    title : str
    lines : tuple of PlanLine
        One per task and model, task by task in the order of the manifest.
    longest : float
        Seconds of the longest unit that is left.
    """

    title: str
    lines: tuple[PlanLine, ...]
    longest: float

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(line.rows for line in self.lines)

    @property
    def fits(self) -> int:
        """Number of fits."""
        return sum(line.fits for line in self.lines)

    @property
    def done(self) -> int:
        """Number of fits that are already in the store."""
        return sum(line.done for line in self.lines)

    @property
    def left(self) -> int:
        """Number of fits that will be trained."""
        return sum(line.left for line in self.lines)

    @property
    def measured(self) -> int:
        """Number of fits left whose time is known from other fits of the model on the task."""
        return sum(line.left for line in self.lines if line.measured)

    @property
    def guessed(self) -> int:
        """Number of fits left whose time is a guess."""
        return self.left - self.measured

    @property
    def seconds(self) -> float:
        """Estimated time of all fits left, one after another."""
        return sum(line.seconds for line in self.lines)

    def wall_seconds(self, workers: int = 1) -> float:
        """Return the estimated time with one core per worker. Workers do not share a unit."""
        if workers < 1:
            raise ValueError(f"workers={workers}: expected at least 1")
        return max(self.seconds / workers, self.longest)


def plan(
    manifest: Manifest,
    done: Collection[tuple[str, int, int]] = frozenset(),
    measured: Measured | None = None,
) -> Plan:
    """Count the rows and fits of a manifest, and estimate how long the missing ones take.

    Parameters
    ----------
    manifest : Manifest
        What would be run.
    done : collection of tuples (row.key, fold, seed), default ()
        Fits that are already in the store.
    measured : mapping, optional
        Mean seconds per fit of earlier fits, by (task, model).

    Examples
    --------
    >>> from pointforms.bench.manifest import read_manifest
    >>> quick = plan(read_manifest("synthetic-quick"))
    >>> quick.rows, quick.fits, quick.left
    (36, 72, 72)
    """
    done = done if isinstance(done, set | frozenset) else set(done)
    known: Measured = measured or {}
    lines: dict[tuple[str, str], PlanLine] = {}
    seen: set[Row] = set()
    longest = 0.0
    for unit in manifest.units():
        row, fits = unit.row, len(unit.fits)
        pair = (row.task, row.model)
        there = sum((row.key, *fit) in done for fit in unit.fits)
        left = fits if there < fits else 0
        seconds = estimate_seconds(row, left, known)
        longest = max(longest, seconds)
        line = lines.get(pair, PlanLine(*pair, measured=pair in known))
        lines[pair] = replace(
            line,
            rows=line.rows + (row not in seen),
            fits=line.fits + fits,
            done=line.done + there,
            left=line.left + left,
            seconds=line.seconds + seconds,
        )
        seen.add(row)
    tasks = list(dict.fromkeys(task for task, _ in lines))
    ordered = sorted(lines.values(), key=lambda line: tasks.index(line.task))
    return Plan(manifest.title, tuple(ordered), longest)


def estimate_seconds(row: Row, fits: int, measured: Measured | None = None) -> float:
    """Return the seconds that a number of fits of a row take one worker.

    The estimate is the mean of earlier fits of the model on the task, where there are any.
    Otherwise it comes from a table of this package, in proportion to clouds, points and epochs.
    """
    if measured and (row.task, row.model) in measured:
        return fits * measured[row.task, row.model]
    costs = typical_costs()
    of_model = costs.get(row.model, costs[_OTHER_MODELS])
    task = row.task if row.task in of_model else _TYPICAL_TASK
    seconds = of_model[task] * _point_count(row) / _point_count(Row(task, row.model))
    epochs = default(row.model, "epochs")
    if epochs:
        seconds *= row.options.get("epochs", epochs) / epochs
    return fits * seconds


@cache
def typical_costs() -> dict[str, dict[str, float]]:
    """Return the seconds of a fit by model and by task at full size."""
    text = (files("pointforms.bench") / "typical_costs.toml").read_text("utf-8")
    return tomllib.loads(text)


class TimeLeft(NamedTuple):
    """Estimated seconds, and whether they are a guess, as a value of a table."""

    seconds: float
    guessed: bool = False

    def number(self) -> float:
        """Return what a table sorts by."""
        return self.seconds

    def parts(self, key: str) -> dict[str, Any]:
        """Return the numbers under the names that they have in CSV."""
        return {key: self.seconds, "guessed": self.guessed}


def _show_time(value: TimeLeft) -> str:
    return "~" * value.guessed + duration(value.seconds)


_COLUMNS = (
    Column("task", "task", left=True),
    Column("model", "model", left=True),
    Column("rows", "rows"),
    Column("fits", "fits"),
    Column("done", "done"),
    Column(
        "seconds_left",
        "time left",
        _show_time,
        lambda line: TimeLeft(line.seconds, not line.measured and line.left > 0),
    ),
)


def plan_table(plan: Plan, workers: int = 1) -> Table:
    """Return a plan as a table. Guessed times are marked with a ~.

    Parameters
    ----------
    plan : Plan
        What to show.
    workers : int, default 1
        Number of processes that will train, for the estimate of the wall time.
    """
    crew = "1 worker" if workers == 1 else f"{workers} workers"
    note = (
        f"{plan.rows} rows, {plan.fits} fits, of which {plan.left} are left: about "
        f"{duration(plan.wall_seconds(workers))} with {crew}. The times of {plan.measured} fits "
        f"are estimated from earlier ones, those of {plan.guessed} are guessed (~)."
    )
    total = {"task": "all", "rows": plan.rows, "fits": plan.fits, "done": plan.done}
    return Table.of(
        plan.title,
        _COLUMNS,
        plan.lines,
        [note],
        {**total, "seconds_left": TimeLeft(plan.seconds)},
    )


def _point_count(row: Row) -> float:
    """Clouds × points. The size of a file is not known; the typical task stands for it."""
    clouds, points = full_size(row.task) or full_size(_TYPICAL_TASK) or (1, 1)
    return float((row.clouds or clouds) * (row.points or points))

"""What a manifest amounts to before it is run: rows, fits, and an estimate of the time."""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate
from math import inf
from typing import Any, NamedTuple

from pointforms.bench.manifest import Manifest
from pointforms.bench.moved_files import file_of, fits_without_paths
from pointforms.bench.records import Row
from pointforms.bench.selection import is_point_form
from pointforms.models import MODELS
from pointforms.models.options import default
from pointforms.support.formatting import duration, thousands
from pointforms.support.table import Column, Table
from pointforms.tasks.catalogue import full_size

#: The number of earlier fits of rows, and their mean seconds.
Measured = Mapping[Row, tuple[int, float]]
_TYPICAL_TASK, _OTHER_MODELS = "circles-vs-lines", "other models"
# The time of a fit is in proportion to some options, and hardly depends on others.
_PROPORTIONAL = ("epochs", "members")
_HARDLY_MATTER = ("learning_rate", "weight_decay", "class_weight", "bandwidth_policy", "measure")
# Shorter fits say little about others: most of their time does not depend on what they train.
_TELLING_SECONDS = 1.0
# Fits whose pace is this many times off the median do not say how fast the machine is: they were
# interrupted, say.
_FAR_OFF = 4.0


@dataclass
class PlanLine:
    """Counts and times of one model on one task, or of all of them.

    Attributes
    ----------
    task, model : str
    rows, fits : int
        Number of rows, and of their fits.
    done : int
        Number of fits that are already in the store.
    left : int
        Number of fits that will be trained. A unit with a missing fit is trained as a whole.
    measured : int
        Number of those whose time is estimated from earlier fits of the model on the task, of the
        same size and with the same options, apart from a few that hardly change the time. The times
        of the others are guesses.
    similar : int
        Number of guesses that follow earlier fits of the model on the task with other options.
    seconds : float
        Estimated time of the fits that are left, one after another.
    """

    task: str
    model: str = ""
    rows: int = 0
    fits: int = 0
    done: int = 0
    left: int = 0
    measured: int = 0
    similar: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Plan:
    """The rows, fits and estimated times of a manifest.

    Attributes
    ----------
    title : str
    lines : tuple of PlanLine
        One per task and model, task by task in the order of the manifest.
    total : PlanLine
        All of them together.
    longest : float
        Seconds of the longest unit that is left.
    pace : float
        How long fits take on this machine, as a multiple of their typical costs; 1 unless earlier
        fits tell.
    """

    title: str
    lines: tuple[PlanLine, ...]
    total: PlanLine
    longest: float
    pace: float = 1.0

    def wall_seconds(self, workers: int = 1) -> float:
        """Return the estimated time with one core per worker. Workers do not share a unit."""
        if workers < 1:
            raise ValueError(f"workers={workers}: expected at least 1")
        return max(self.total.seconds / workers, self.longest)


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
        Number and mean seconds of earlier fits on this machine, by row. They also tell how fast it
        is.

    Examples
    --------
    >>> from pointforms.bench.manifest import read_manifest
    >>> quick = plan(read_manifest("synthetic-quick")).total
    >>> quick.rows, quick.fits, quick.left
    (48, 96, 96)
    """
    done, paces = fits_without_paths(done), paces_of(measured or {})
    lines: dict[tuple[str, str], PlanLine] = {}
    total, longest = PlanLine("all"), 0.0
    seen: set[Row] = set()
    for unit in manifest.units():
        row, fits = unit.row, len(unit.fits)
        pair = (row.task, row.model)
        stored = len(fits_without_paths(unit.keys) & done)
        left = fits if stored < fits else 0
        seconds = estimate_seconds(row, left, paces)
        is_measured = _configuration(row) in paces.same
        is_similar = not is_measured and _kind(row) in paces.similar
        longest = max(longest, seconds)
        for line in (lines.setdefault(pair, PlanLine(*pair)), total):
            line.rows += row not in seen
            line.fits += fits
            line.done += stored
            line.left += left
            line.measured += left * is_measured
            line.similar += left * is_similar
            line.seconds += seconds
        seen.add(row)
    tasks = list(dict.fromkeys(task for task, _ in lines))
    ordered = sorted(lines.values(), key=lambda line: tasks.index(line.task))
    return Plan(manifest.title, tuple(ordered), total, longest, paces.machine)


class Paces(NamedTuple):
    """How long earlier fits took, as multiples of their typical costs.

    Attributes
    ----------
    same : mapping
        By the size of the task, the model, and the options that change the time of a fit.
    similar : mapping
        By the size of the task, the model, and the number of epochs that a row asks for.
    machine : float
        All of them together, without those whose typical cost is a guess, or is short.
    """

    same: Mapping[tuple[Any, ...], float]
    similar: Mapping[tuple[Any, ...], float]
    machine: float = 1.0


def paces_of(measured: Measured) -> Paces:
    """Compare the times of earlier fits with their typical costs.

    Parameters
    ----------
    measured : mapping
        Number and mean seconds of fits, by row.
    """
    same, similar, telling = (defaultdict[tuple[Any, ...], list[_Times]](list) for _ in range(3))
    for row, (fits, seconds) in measured.items():
        if row.model not in MODELS or not _is_positive(seconds) or not _is_possible(row):
            continue  # of another version, or not of this library
        typical = _typical_seconds(row)
        times = _Times(fits * seconds, fits * typical)
        same[_configuration(row)].append(times)
        similar[_kind(row)].append(times)
        if typical >= _TELLING_SECONDS and row.task in _costs_of(row):
            telling[_kind(row)].append(times)
    return Paces(
        {configuration: _sum(times).pace for configuration, times in same.items()},
        {kind: _sum(times).pace for kind, times in similar.items()},
        _common_pace([_sum(times) for times in telling.values()]),
    )


class _Times(NamedTuple):
    """Seconds that fits took, and that they typically take."""

    taken: float
    typical: float

    @property
    def pace(self) -> float:
        return self.taken / self.typical


def _sum(times: Sequence[_Times]) -> _Times:
    return _Times(sum(one.taken for one in times), sum(one.typical for one in times))


def _common_pace(times: Sequence[_Times]) -> float:
    """Return the pace of several kinds of fits together, without those far off the median.

    It is 1 unless at least two kinds agree: fits of one kind may have been interrupted, on a laptop
    that slept, say, and nothing would show it.
    """
    if not times:
        return 1.0
    ordered = sorted(times, key=lambda one: one.pace)
    half = sum(one.typical for one in ordered) / 2
    upto = accumulate(one.typical for one in ordered)
    median = next(one.pace for one, typical in zip(ordered, upto, strict=True) if typical >= half)
    near = [one for one in ordered if median / _FAR_OFF <= one.pace <= median * _FAR_OFF]
    return _sum(near).pace if len(near) > 1 else 1.0


def _kind(row: Row) -> tuple[Any, ...]:
    """Return the size, model and epochs of a row: fits that share them take similar times."""
    size = file_of(row) or row.size._replace(task_seed=0)
    return size, row.model, row.options.get("epochs", default(row.model, "epochs"))


def _configuration(row: Row) -> tuple[Any, ...]:
    """Return the kind of a row with all options that matter: fits that share it take as long."""
    options = {
        name: value
        for name, value in row.options.items()
        if name not in _HARDLY_MATTER and value != default(row.model, name)
    }
    return *_kind(row), json.dumps(options, sort_keys=True)


def _is_possible(row: Row) -> bool:
    """Return whether a row, which may be of a damaged store, has numbers of epochs and members."""
    return all(_is_positive(row.options.get(name, 1)) for name in _PROPORTIONAL)


def _is_positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and 0 < value < inf


def estimate_seconds(row: Row, fits: int, paces: Paces | None = None) -> float:
    """Return the seconds that a number of fits of a row take one worker.

    A table of this package has typical costs, which follow the numbers of clouds, points, epochs
    and members. They are multiplied by the pace of earlier fits: of the same model on the same task
    with the same options, or else with others but as many epochs, or else of all together.
    """
    pace = 1.0
    if paces is not None:
        similar = paces.similar.get(_kind(row), paces.machine)
        pace = paces.same.get(_configuration(row), similar)
    return fits * _typical_seconds(row) * pace


def _typical_seconds(row: Row) -> float:
    """Return what one fit of a row takes by the table, in proportion to its size and options."""
    of_model = _costs_of(row)
    task = row.task if row.task in of_model else _TYPICAL_TASK
    seconds = of_model[task] * _point_count(row) / _point_count(Row(task, row.model))
    for name in _PROPORTIONAL:
        usual = default(row.model, name)
        if usual:
            seconds *= row.options.get(name, usual) / usual
    return seconds


def _costs_of(row: Row) -> dict[str, float]:
    """Return the typical seconds of a row's model by task."""
    costs = typical_costs()
    return costs.get(row.model) or costs.get(cost_name(row)) or costs[_OTHER_MODELS]


def cost_name(row: Row) -> str:
    """Return what the cost of a row is listed under: its model, or the degree of a point-form.

    The readout of a point-form makes little difference to the time.
    """
    if not is_point_form(row):
        return row.model
    degree = row.options.get("degree", MODELS[row.model].options.get("degree", 1))
    return f"point-forms of degree {degree}"


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


def _time_left(line: PlanLine) -> TimeLeft:
    return TimeLeft(line.seconds, line.measured < line.left)


def _show_time(value: TimeLeft) -> str:
    return "~" * value.guessed + duration(value.seconds)


_COLUMNS = (
    Column("task", "task", left=True),
    Column("model", "model", left=True),
    Column("rows", "rows"),
    Column("fits", "fits"),
    Column("done", "done"),
    Column("seconds_left", "time left", _show_time, _time_left),
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
    total = plan.total
    crew = "1 worker" if workers == 1 else f"{workers} workers"
    note = (
        f"{total.rows} rows, {total.fits} fits, of which {total.left} are left: about "
        f"{duration(plan.wall_seconds(workers))} with {crew}."
    )
    guessed = total.left - total.measured - total.similar
    times = thousands(plan.pace) if plan.pace >= 10 else f"{plan.pace:.2g}"
    pace = "" if plan.pace == 1.0 else f", × {times} by earlier fits on this machine"
    for fits, how in (
        (total.measured, "Estimated from earlier fits of their model, options and task"),
        (total.similar, "Guessed (~) from earlier fits with other options"),
        (guessed, f"Guessed (~) from typical costs{pace}"),
    ):
        note += f" {how}: {fits} fits." if fits else ""
    sums = {column.key: column.read(total) for column in _COLUMNS}
    sums["seconds_left"] = TimeLeft(total.seconds)
    return Table.of(plan.title, _COLUMNS, plan.lines, [note], sums)


def _point_count(row: Row) -> float:
    """Clouds × points. The size of a file is not known; the typical task stands for it."""
    clouds, points = full_size(row.task) or full_size(_TYPICAL_TASK) or (1, 1)
    return float((row.clouds or clouds) * (row.points or points))

"""What a manifest amounts to before it is run: rows, fits, and a guess at the time."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from rich.markup import escape
from rich.table import Table

from pointforms.bench.manifest import Manifest
from pointforms.bench.records import Row
from pointforms.models.options import default
from pointforms.tasks.catalogue import full_size

Measured = Mapping[tuple[str, str], float]
_USUAL_TASK, _OTHER_MODELS = "circles-vs-lines", "other models"


@dataclass(frozen=True)
class PlanLine:
    """A model on a task.

    Attributes
    ----------
    rows, fits : how many
    done : fits that are there
    left : fits that will be trained: units with a fit missing are trained whole
    seconds : estimate for those
    measured : whether from fits of this model on this task, or guessed
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
    """A manifest's lines and totals.

    Attributes
    ----------
    title : str
    lines : one a task and model, task by task in the manifest's order
    longest : seconds of the longest unit that is left
    """

    title: str
    lines: tuple[PlanLine, ...]
    longest: float

    @property
    def rows(self) -> int:
        return sum(line.rows for line in self.lines)

    @property
    def fits(self) -> int:
        return sum(line.fits for line in self.lines)

    @property
    def done(self) -> int:
        return sum(line.done for line in self.lines)

    @property
    def left(self) -> int:
        return sum(line.left for line in self.lines)

    @property
    def measured(self) -> int:
        """Fits left whose time is known from others of the model on the task."""
        return sum(line.left for line in self.lines if line.measured)

    @property
    def guessed(self) -> int:
        """Fits left whose time is a guess."""
        return self.left - self.measured

    @property
    def seconds(self) -> float:
        """Of one worker."""
        return sum(line.seconds for line in self.lines)

    def wall_seconds(self, workers: int = 1) -> float:
        """Until all is done, where every worker has a core: a unit is not shared among them."""
        if workers < 1:
            raise ValueError(f"workers={workers}: expected at least 1")
        return max(self.seconds / workers, self.longest)


def plan(
    manifest: Manifest,
    done: Collection[tuple[str, int, int]] = frozenset(),
    measured: Measured | None = None,
) -> Plan:
    """Count a manifest's rows and fits, and estimate how long those that are missing take.

    Parameters
    ----------
    manifest : Manifest
    done : fits that are there, as (row.key, fold, seed)
    measured : (task, model) -> mean seconds of a fit, from earlier ones
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
    """Time that so many fits of a row take one worker.

    From the mean of earlier fits of the model on the task, where there are any. Otherwise from a
    table of this package, in proportion to clouds, points and epochs.
    """
    if measured and (row.task, row.model) in measured:
        return fits * measured[row.task, row.model]
    table = usual_costs()
    costs_of_model = table.get(row.model, table[_OTHER_MODELS])
    task = row.task if row.task in costs_of_model else _USUAL_TASK
    seconds = costs_of_model[task] * _numbers(row) / _numbers(Row(task, row.model))
    epochs = default(row.model, "epochs")
    if epochs:
        seconds *= row.options.get("epochs", epochs) / epochs
    return fits * seconds


@cache
def usual_costs() -> dict[str, dict[str, float]]:
    """Seconds of a fit: model -> task at full size -> seconds."""
    text = (files("pointforms.bench") / "typical_costs.toml").read_text("utf-8")
    return tomllib.loads(text)


def plan_table(plan: Plan, workers: int = 1) -> Table:
    """A plan for the terminal. Guessed times have a ~."""
    view = Table(title=escape(plan.title), title_justify="left", caption_justify="left")
    for heading in ("task", "model", "rows", "fits", "done", "time left"):
        side = "left" if heading in ("task", "model") else "right"
        view.add_column(heading, justify=side)  # type: ignore[arg-type]
    for before, line in zip((None, *plan.lines), plan.lines, strict=False):
        if before and before.task != line.task:
            view.add_section()
        view.add_row(
            escape(line.task),
            escape(line.model),
            *map(str, (line.rows, line.fits, line.done)),
            ("" if line.measured or not line.left else "~") + span(line.seconds),
        )
    view.add_section()
    view.add_row("all", "", *map(str, (plan.rows, plan.fits, plan.done)), span(plan.seconds))
    crew = "1 worker" if workers == 1 else f"{workers} workers"
    view.caption = (
        f"{plan.rows} rows, {plan.fits} fits, of which {plan.left} are left: about "
        f"{span(plan.wall_seconds(workers))} with {crew}. The times of {plan.measured} fits are "
        f"estimated from earlier ones, those of {plan.guessed} are guessed (~)."
    )
    return view


def span(seconds: float) -> str:
    """A time as people say it, in two digits or so."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def _numbers(row: Row) -> float:
    """Clouds × points; of a file nothing is known, and it counts as the usual task."""
    clouds, points = full_size(row.task) or full_size(_USUAL_TASK) or (1, 1)
    return float((row.clouds or clouds) * (row.points or points))

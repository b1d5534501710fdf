"""Models compared across tasks: mean ranks, and mean differences to the reference.

A task with several seeds of its clouds counts once: its seeds are averaged first. Otherwise more
seeds would make an interval over tasks as narrow as one likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isfinite, nan

from pointforms.bench.comparison import OURS, Comparison, ModelResult
from pointforms.bench.records import Size, titles
from pointforms.support import formatting
from pointforms.support.statistics import SIGNIFICANCE_LEVEL, Estimate, interval
from pointforms.support.table import Column, Table

# Fewer tasks than this say too little about other tasks for an interval.
_FEWEST_TASKS = 3
# Means that differ by less share a rank: they differ by rounding alone.
_EQUAL = 1e-9


@dataclass(frozen=True)
class ModelAcrossTasks:
    """One model on several tasks.

    Only tasks on which the model has all fits count: on every fold that any model has, with each
    of its seeds, and none failed.

    Attributes
    ----------
    name : str
        As shown in tables.
    rank : float
        Mean rank by mean AUROC among the models that have all fits on a task; 1 is the best, and
        equal models share the mean of their ranks. NaN for lines that only repeat fits of others.
    rank_real : float
        The same over tasks with real data.
    difference : Estimate
        Mean over tasks of AUROC minus that of the reference, with half its 95 % interval by
        Student's t; no interval for fewer than three tasks. NaN for the reference.
    difference_real : Estimate
        The same over tasks with real data.
    ahead : int or None
        Number of comparisons in which it is significantly ahead of the reference, with p adjusted
        by Holm's method within the comparison; None if it was tested in none.
    behind : int or None
        Number of comparisons in which it is significantly behind the reference.
    tasks : int
        Number of tasks on which it has all fits.
    """

    name: str
    rank: float = nan
    rank_real: float = nan
    difference: Estimate = field(default_factory=Estimate)
    difference_real: Estimate = field(default_factory=Estimate)
    ahead: int | None = None
    behind: int | None = None
    tasks: int = 0


@dataclass(frozen=True)
class _Place:
    """One model in one comparison."""

    size: Size
    complete: bool
    rank: float
    result: ModelResult
    difference: float


_COLUMNS = (
    Column("model", "model", value=lambda m: m.name, left=True),
    Column("rank", "mean rank", "{:.2f}".format, best="min"),
    Column("rank_real", "mean rank, real data", "{:.2f}".format, best="min", wide=True),
    Column("difference", f"difference to {OURS}", formatting.signed_estimate),
    Column("difference_real", "difference, real data", formatting.signed_estimate),
    Column("ahead", "ahead"),
    Column("behind", "behind"),
    Column("tasks", "tasks"),
)


def compare_across_tasks(comparisons: Sequence[Comparison]) -> list[ModelAcrossTasks]:
    """Summarise every model over tasks, the best mean rank first.

    Parameters
    ----------
    comparisons : sequence of Comparison
        As :func:`~pointforms.bench.comparison.compare` returns them, with one reference.

    Examples
    --------
    >>> from pointforms.bench import Record, Row, compare
    >>> scores = {"colocated": (0.9, 0.8), "singlecell": (0.7, 0.6)}
    >>> fits = [
    ...     Record(Row(task, model), fold, 0, auroc=auroc)
    ...     for task, aurocs in scores.items()
    ...     for model, auroc in zip(("mlp", "svm"), aurocs)
    ...     for fold in range(5)
    ... ]
    >>> for one in compare_across_tasks(compare(fits, reference="mlp")):
    ...     print(one.name, one.rank, round(one.difference.mean, 3))
    MLP 1.0 nan
    SVM RBF 2.0 -0.1
    """
    places: dict[str, list[_Place]] = {}
    for comparison in comparisons:
        for name, place in _places(comparison).items():
            places.setdefault(name, []).append(place)
    models = [_summary(name, own) for name, own in places.items()]
    return sorted(models, key=lambda one: one.rank if isfinite(one.rank) else float("inf"))


def across_tasks_table(comparisons: Sequence[Comparison]) -> Table:
    """Return the models over all tasks as a table, one row per model.

    Parameters
    ----------
    comparisons : sequence of Comparison
        As :func:`~pointforms.bench.comparison.compare` returns them, with one reference.

    Examples
    --------
    >>> from pointforms.bench import Record, Row, compare
    >>> tasks = ("colocated", "singlecell")
    >>> fits = [Record(Row(task, "mlp"), fold, 0, auroc=0.7) for task in tasks for fold in range(3)]
    >>> across_tasks_table(compare(fits)).title
    'Across 2 tasks'
    """
    models = compare_across_tasks(comparisons)
    reference = comparisons[0].reference_title if comparisons else OURS
    tasks = {_task(one.size): one.size for one in comparisons}
    real = [size for size in tasks.values() if size.is_real]
    title = f"Across {len(tasks)} task{'s' * (len(tasks) != 1)}"
    notes = _notes(comparisons, models)
    table = Table.of(title, _COLUMNS, models, notes)
    shown = [
        replace(column, heading=column.heading.replace(OURS, reference))
        for column in _COLUMNS
        # without a simulated task they would repeat the columns beside them
        if len(real) < len(tasks) or not column.key.endswith("_real")
    ]
    return replace(table, columns=shown)


def _notes(comparisons: Sequence[Comparison], models: Sequence[ModelAcrossTasks]) -> list[str]:
    """How the numbers were obtained."""
    tasks = {_task(one.size): one.size for one in comparisons}
    notes = [
        "Ranks are by mean AUROC among the models that have all fits on a task: 1 is the best, and "
        "equal models share the mean of their ranks."
    ]
    tested = [one for one in comparisons if any(isfinite(model.p) for model in one.compared)]
    if any(isfinite(one.difference.mean) for one in models):
        note = "Differences are means over tasks of the differences in AUROC on common folds"
        if any(one.difference.half is not None for one in models):
            note += "; ± is half the 95 % interval over tasks, where there are three or more"
        notes.append(f"{note}.")
    if tested:
        reference = comparisons[0].reference_title
        notes.append(
            f"ahead, behind: number of the {len(tested)} task tables in which a model is "
            f"significantly ahead of or behind {reference} (p < {SIGNIFICANCE_LEVEL}, adjusted by "
            "Holm's method within the table)."
        )
    fewer = [f"{one.name} on {one.tasks}" for one in models if one.tasks < len(tasks)]
    if fewer:
        notes.append(
            f"All fits on fewer than {len(tasks)} tasks, so that ranks and means are of these "
            f"alone: {', '.join(fewer)}."
        )
    if len(tasks) < len(comparisons):
        notes.append("A task with several seeds counts once, by the mean over its seeds.")
    named = titles(size._replace(task_seed=0) for size in tasks.values())
    real = [title for size, title in named.items() if size.is_real]
    if real:
        rest = " The rest is simulated." if len(real) < len(tasks) else ""
        notes.append(f"Real data (files count as real): {', '.join(real)}.{rest}")
    unranked = [one.name for one in models if one.tasks and not isfinite(one.rank)]
    if unranked:
        notes.append(f"Without a rank, because they share fits with others: {', '.join(unranked)}.")
    return notes


def _places(comparison: Comparison) -> dict[str, _Place]:
    """The models of one comparison, by the name that they have on every task."""
    folds = {r.fold for m in comparison.models for r in m.finished if isfinite(r.auroc)}
    complete = [model for model in comparison.models if _has_all_fits(model, folds)]
    ranked = [model for model in complete if _is_ranked(model, comparison)]
    means = [model.summary("auroc").mean for model in ranked]
    titles = [model.title for model in comparison.models]
    places = {}
    for model in comparison.models:
        mean = model.summary("auroc").mean
        paired = model in complete and comparison.reference in complete
        # "MLP (selected, of 3)" may be "of 2" on another task
        name = model.title if titles.count(model.title) == 1 else model.name
        places[name] = _Place(
            comparison.size,
            model in complete,
            _rank(mean, means) if model in ranked else nan,
            model,
            model.test.difference if paired else nan,
        )
    return places


def _has_all_fits(model: ModelResult, folds: set[int]) -> bool:
    """Whether a model has a score on every fold, with each of its seeds."""
    scored = {(r.fold, r.seed) for r in model.finished if isfinite(r.auroc)}
    seeds = {record.seed for record in model.records}
    return bool(scored) and len(scored) == len(folds) * len(seeds)


def _is_ranked(model: ModelResult, comparison: Comparison) -> bool:
    """Whether a model counts in ranks: not the rows of a selection and the selection too."""
    if comparison.reference is None:
        return model.title != OURS
    if model is comparison.reference:
        return True
    return model.title != OURS and model in comparison.compared


def _rank(mean: float, means: Sequence[float]) -> float:
    """The rank of a mean among all, itself included; equal ones share the mean of their ranks."""
    better = sum(other > mean + _EQUAL for other in means)
    equal = sum(abs(other - mean) <= _EQUAL for other in means)
    return better + (equal + 1) / 2


def _task(size: Size) -> str:
    """A task without the seed of its clouds."""
    return repr(size._replace(task_seed=0))


def _summary(name: str, places: Sequence[_Place]) -> ModelAcrossTasks:
    real = [place for place in places if place.size.is_real]
    tested = [place.result.difference for place in places if isfinite(place.result.p)]
    significant = [difference.mean for difference in tested if difference.significant]
    return ModelAcrossTasks(
        name,
        _mean_rank(places),
        _mean_rank(real),
        _mean_difference(places),
        _mean_difference(real),
        sum(mean > 0 for mean in significant) if tested else None,
        sum(mean <= 0 for mean in significant) if tested else None,
        len({_task(place.size) for place in places if place.complete}),
    )


def _mean_rank(places: Sequence[_Place]) -> float:
    return _over_tasks(places, [place.rank for place in places]).mean


def _mean_difference(places: Sequence[_Place]) -> Estimate:
    return _over_tasks(places, [place.difference for place in places])


def _over_tasks(places: Sequence[_Place], values: Sequence[float]) -> Estimate:
    """The mean over tasks, of the means over their seeds, and half its interval."""
    tasks = [_task(place.size) for place in places]
    known = {task for task, value in zip(tasks, values, strict=True) if isfinite(value)}
    mean, half = interval(values, tasks)
    return Estimate(mean, half if len(known) >= _FEWEST_TASKS else None)

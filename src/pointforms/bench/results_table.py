"""The results table of a task: every model beside the reference.

To add a column, add an entry to :data:`COLUMNS`. It appears in the terminal, in Markdown, LaTeX
and CSV, and on the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isfinite, nan
from typing import Any, NamedTuple

from pointforms.bench.comparison import OURS, Comparison, ModelResult, Published, compare
from pointforms.bench.records import Record, Row
from pointforms.support import formatting
from pointforms.support.statistics import (
    SIGNIFICANCE_LEVEL,
    Difference,
    Range,
    interval,
)
from pointforms.support.table import Column, Table


class Coverage(NamedTuple):
    """How many of folds × seeds have a finished fit, as a value of a table."""

    fits: int
    folds: int
    seeds: int

    def number(self) -> float:
        """Return what a table sorts by."""
        return self.fits

    def parts(self, key: str) -> dict[str, int]:
        """Return the numbers under the names that they have in CSV."""
        return {key: self.fits}


def _show_coverage(value: Coverage) -> str:
    if not value.folds:
        return "none"
    grid = f"{value.folds} × {value.seeds}"
    return grid if value.fits == value.folds * value.seeds else f"{value.fits} of {grid}"


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else nan


def _over_folds(model: ModelResult) -> float | None:
    """Half the interval of AUROC if the seeds of a fold count as one value."""
    folds = [record.fold for record in model.finished]
    return interval((record.auroc for record in model.finished), folds).half


def _parameters(model: ModelResult) -> Range:
    counts = model.known("parameters")
    return Range(min(counts), max(counts)) if counts else Range()


def _epoch_seconds(model: ModelResult) -> float:
    return _mean([record.seconds / record.epochs for record in model.finished if record.epochs])


def _coverage(model: ModelResult) -> Coverage:
    folds = len({record.fold for record in model.records})
    return Coverage(len(model.finished), folds, len({record.seed for record in model.records}))


def _adjusted_p(value: Difference) -> float:
    return value.p


#: The columns of the results table. Those without a heading are only in CSV; the wide ones are
#: shown in a terminal with `--wide`.
COLUMNS: tuple[Column, ...] = (
    Column("model", "model", value=lambda m: m.name, left=True),
    Column("auroc", "AUROC", formatting.estimate, lambda m: m.summary("auroc"), best="max"),
    Column("auroc_half_over_folds", "", value=_over_folds),
    Column("paper", "paper", formatting.estimate, wide=True),
    Column("difference", f"difference to {OURS}", formatting.difference),
    Column("difference", "adjusted p", formatting.significance, sort=_adjusted_p),
    Column("pairs", "", value=lambda m: m.test.pairs),
    Column("accuracy", "accuracy", formatting.estimate, lambda m: m.summary("accuracy"), wide=True),
    Column("log_loss", "log loss", formatting.estimate, lambda m: m.summary("log_loss"), wide=True),
    Column("brier", "Brier score", formatting.estimate, lambda m: m.summary("brier"), wide=True),
    Column("parameters", "parameters", formatting.count_range, _parameters, wide=True),
    Column("seconds", "s / fit", formatting.seconds, lambda m: _mean(m.known("seconds"))),
    Column("epoch_seconds", "s / epoch", formatting.seconds, _epoch_seconds, wide=True),
    Column(
        "memory",
        "peak memory",
        formatting.binary_size,
        lambda m: max(m.known("memory"), default=None),
        wide=True,
    ),
    Column("fits", "folds × seeds", _show_coverage, _coverage, wide=True),
    Column("fits_tried", "", value=lambda m: m.tried),
    Column("failed", "failed", wide=True),
    Column("rows", "", value=lambda m: m.candidates),
)

# The metrics that are shown with half their interval.
_SCORES = ("auroc", "accuracy", "log_loss", "brier")

# The columns of the table in which every configuration stands by itself.
_EVERY_ROW = ("model", "auroc", "log_loss", "difference", "fits")


def results_table(comparison: Comparison) -> Table:
    """Return the table of one task, with the outcome in words below it.

    Parameters
    ----------
    comparison : Comparison
        The models of one task, as :func:`~pointforms.bench.comparison.compare` returns them.

    Examples
    --------
    >>> fits = [Record(Row("colocated", "mlp"), fold, 0, auroc=0.7) for fold in range(3)]
    >>> [one] = compare(fits)
    >>> results_table(one).title
    'colocated'
    """
    notes = [*_outcome(comparison), *_notes(comparison)]
    columns = [
        replace(column, heading=column.heading.replace(OURS, comparison.reference_title))
        for column in COLUMNS
    ]
    table = Table.of(comparison.title, columns, comparison.listed, notes)
    size = comparison.size._asdict()
    rows = [{**size, **row} for row in table.rows]
    return replace(table, rows=rows, brief=[*_ahead(comparison), *_legend(comparison)])


def results_tables(
    records: Iterable[Record],
    rows: Iterable[Row] = (),
    every: bool = False,
    published: Published | None = None,
    reference: str | None = None,
) -> list[Table]:
    """Return one table per task and size among the records, ordered by name.

    Parameters
    ----------
    records : iterable of Record
        Fits, in any order.
    rows : iterable of Row, default ()
        Rows of a manifest, so that models without a fit yet are listed too.
    every : bool, default False
        Show every row. Otherwise there is one line per model, selected on validation data if the
        model has several rows.
    published : callable, optional
        Published values to show beside ours: (task, title of a model) -> Estimate or None.
    reference : str, optional
        Name of the model that every other model is tested against (default: NPF (selected), and
        only baselines are tested).

    Examples
    --------
    >>> fits = [Record(Row("colocated", "mlp"), fold, 0, auroc=0.7) for fold in range(3)]
    >>> print(results_tables(fits)[0].markdown().splitlines()[4])
    | MLP | **0.700 ± 0.000** | 3 × 1 | 0 |
    """
    compared = compare(records, rows, every, published=published, reference=reference)
    return [results_table(one) for one in compared]


def every_row(records: Iterable[Record], rows: Iterable[Row] = ()) -> Table | None:
    """Return each row of the models that have several; None where nothing was selected."""
    listed: list[Mapping[str, Any]] = []
    for comparison in compare(records, rows, every=True):
        counts = Counter(model.title for model in comparison.models)
        table = results_table(comparison)
        listed += [
            {**row, "title": comparison.title}
            for row, model in zip(table.rows, comparison.listed, strict=True)
            if counts[model.title] > 1
        ]
    if not listed:
        return None
    columns = [
        Column("title", "task", left=True),
        *(replace(column, best=None) for column in COLUMNS if column.key in _EVERY_ROW),
    ]
    note = "The rows of models that were selected above, one by one; nothing here is selected."
    return Table("Row by row", columns, listed, [note])


def _tested(comparison: Comparison) -> list[ModelResult]:
    """The models that were tested against the reference, the best first."""
    tested = [model for model in comparison.compared if isfinite(model.p)]
    return sorted(tested, key=lambda model: -model.difference.mean)


def _ahead(comparison: Comparison) -> list[str]:
    """Which models are significantly ahead of the reference."""
    tested, reference = _tested(comparison), comparison.reference_title
    ahead = [m for m in tested if m.difference.significant and m.difference.mean > 0]
    if not ahead and tested:
        return [f"No {comparison.noun} is significantly ahead of {reference}."]
    return [f"{m.name} leads {reference} by {_distance(m.difference)}." for m in ahead]


def _legend(comparison: Comparison) -> list[str]:
    """What the narrow table needs to be read."""
    legend = ["± is half of the 95 % interval over folds and seeds."] * _has_intervals(comparison)
    if _tested(comparison):
        legend.append(_arrows(comparison))
    failed = sum(model.failed for model in comparison.distinct)
    sentences = [" ".join(legend)] if legend else []
    return sentences + [f"Fits that failed and are left out: {failed}."] * (failed > 0)


def _has_intervals(comparison: Comparison) -> bool:
    """Whether any score has enough values for an interval."""
    return any(
        model.summary(metric).half is not None for model in comparison.models for metric in _SCORES
    )


def _arrows(comparison: Comparison) -> str:
    reference = comparison.reference_title
    return f"↑ is above {reference} and ↓ below it with p < {SIGNIFICANCE_LEVEL}."


def _outcome(comparison: Comparison) -> list[str]:
    """Which models are ahead of the reference, which are behind, and which are neither."""
    tested, reference = _tested(comparison), comparison.reference_title
    behind = [m for m in tested if m.difference.significant and m.difference.mean <= 0]
    level = [m for m in tested if not m.difference.significant]
    untested = [model.name for model in comparison.compared if not isfinite(model.p)]
    sentences = _ahead(comparison)
    if level:
        each = (f"{m.name} {formatting.tested_difference(m.difference)}" for m in level)
        sentences.append(
            f"No significant difference to {reference} (p ≥ {SIGNIFICANCE_LEVEL}): "
            f"{'; '.join(each)}."
        )
    if behind:
        each = (f"{m.name} by {_distance(m.difference)}" for m in behind)
        sentences.append(f"Significantly behind {reference}: {'; '.join(each)}.")
    if untested:
        sentences.append(f"Too few common fits for a test: {', '.join(untested)}.")
    return sentences


def _distance(value: Difference) -> str:
    """A difference without its sign, where words give the direction."""
    text = formatting.tested_difference(value)
    return f"{abs(value.mean):.3f}{text.removeprefix(formatting.signed(value.mean))}"


def _notes(comparison: Comparison) -> list[str]:
    """How the numbers were obtained."""
    first, own = comparison.reference, comparison.distinct
    failed = sum(model.failed for model in own)
    notes = [f"Fits: {sum(model.tried for model in own)}; failed and left out: {failed}."]
    undefined = sum(not isfinite(record.auroc) for model in own for record in model.finished)
    if undefined:
        notes.append(f"Fits without AUROC, because the test fold has one class: {undefined}.")
    if _has_intervals(comparison):
        notes.append(
            "± is half the 95 % interval over folds × seeds. Fits of one fold share test clouds "
            "and two folds share training clouds: the interval shows spread and does not test "
            "differences."
        )
    if first is None:
        absent = [f"No line for {comparison.reference_title}: nothing is tested."]
        by_choice = comparison.reference_title != OURS
        return notes + absent * by_choice + _selection_notes(comparison)
    if any(model.test.pairs for model in comparison.models):
        tested = len(_tested(comparison))
        each = "on common pairs (fold, seed)" if comparison.over == "fits" else "on fold means"
        note = (
            f"Differences in AUROC are computed {each} and tested by the corrected resampled "
            "t-test (Nadeau and Bengio), from five differences on."
        )
        if tested:
            note += (
                f" p is adjusted by Holm's method for the number of {comparison.noun}s, {tested}, "
                "and so is the interval: it contains 0 exactly if p ≥ "
                f"{SIGNIFICANCE_LEVEL}. {_arrows(comparison)}"
            )
        notes.append(note)
    fewer = [
        f"{model.name} on {model.test.pairs}"
        for model in comparison.compared
        if 0 < model.test.pairs < len(first.finished)
    ]
    if fewer:
        notes.append(f"Compared on fewer than {len(first.finished)} pairs: {', '.join(fewer)}.")
    return notes + _selection_notes(comparison)


def _selection_notes(comparison: Comparison) -> list[str]:
    """What NPF (selected) was selected from."""
    ours = comparison.selected
    if ours is None:
        return []
    by_fold = {record.fold: record.row.title for record in ours.records}
    chosen = Counter(by_fold.values()).most_common()
    if ours.candidates == 1:
        return [f"{OURS} is {chosen[0][0]}, the only row to choose from."]
    folds = ", ".join(f"{title} {count}" for title, count in chosen)
    notes = [
        f"{OURS} is chosen in every fold by validation loss from {ours.candidates} rows "
        f"(number of folds: {folds}). The time of a selected line is that of the chosen fits, not "
        "of all that were tried."
    ]
    if ours is not comparison.reference:
        return notes
    listed = Counter(model.title for model in comparison.baselines)
    single = [m.title for m in comparison.baselines if m.candidates == listed[m.title] == 1]
    if single:
        notes.append(f"One configuration each, nothing to select from: {', '.join(single)}.")
    return notes

"""Models compared on one task: one :class:`ModelResult` per model, with NPF (selected) first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, nan
from typing import Any

from pointforms.bench.paired_test import Over, PairedTest, paired_test
from pointforms.bench.records import Record, Row, Size
from pointforms.bench.selection import is_point_form, select
from pointforms.models import MODELS
from pointforms.support.statistics import Difference, Estimate, holm, interval

OURS = "NPF (selected)"

#: Published AUROC of a model on a task, such as that of the paper: (task, model's title) -> value.
Reference = Callable[[str, str], Estimate | None]


@dataclass(frozen=True)
class ModelResult:
    """One model on one task: a single row, or the selection from several rows.

    Parameters
    ----------
    name : str
        As shown in tables.
    title : str
        The name of the model without what was selected or how its options differ.
    ours : bool
        Whether it is a point-form.
    records : tuple of Record
        The fits that it stands for.
    candidates : int, default 1
        Number of rows it was selected from.
    tried : int, default 0
        Number of fits of all those rows that finished.
    failed : int, default 0
        Number of fits of all those rows that failed.
    test : PairedTest, default PairedTest()
        This model minus NPF (selected).
    p : float, default nan
        The p-value of the test, adjusted for the number of baselines; NaN for point-forms.
    paper : Estimate, default Estimate()
        The published AUROC; NaN where there is none.

    Examples
    --------
    >>> row = Row("colocated", "mlp")
    >>> fits = tuple(Record(row, fold, 0, auroc=0.7 + 0.1 * fold) for fold in range(3))
    >>> result = ModelResult("MLP", "MLP", ours=False, records=fits)
    >>> round(result.summary("auroc").mean, 3)
    0.8
    """

    name: str
    title: str
    ours: bool
    records: tuple[Record, ...]
    candidates: int = 1
    tried: int = 0
    failed: int = 0
    test: PairedTest = field(default_factory=PairedTest)
    p: float = nan
    paper: Estimate = field(default_factory=Estimate)

    @cached_property
    def finished(self) -> list[Record]:
        """The fits that did not fail."""
        return [record for record in self.records if record.error is None]

    @property
    def difference(self) -> Difference:
        """AUROC minus that of NPF (selected), with its interval and adjusted p-value."""
        test = self.test
        return Difference(test.difference, test.low, test.high, self.p, test.p)

    def summary(self, metric: str) -> Estimate:
        """Return the mean of a metric over fits, and half its 95 % interval."""
        return interval(getattr(record, metric) for record in self.finished)

    def known(self, attribute: str) -> list[Any]:
        """Return the values of an attribute, without fits for which it is not known."""
        values = [getattr(record, attribute) for record in self.finished]
        return [value for value in values if value is not None and isfinite(value)]


@dataclass(frozen=True)
class Comparison:
    """The models of one task.

    Parameters
    ----------
    size : Size
        The task, with the number of clouds and points and the seed of its clouds.
    models : tuple of ModelResult
        NPF (selected) first, if there is one; the others in the order of the registry.
    over : {"folds", "fits"}, default "folds"
        What counts as one difference in the tests.

    Examples
    --------
    >>> rows = [Row("colocated", model) for model in ("npf-tri-1", "mlp")]
    >>> fits = [Record(row, 0, 0, auroc=0.8, validation_loss=0.4) for row in rows]
    >>> [comparison] = compare(fits)
    >>> comparison.selected.name, [model.name for model in comparison.baselines]
    ('NPF (selected)', ['MLP'])
    """

    size: Size
    models: tuple[ModelResult, ...]
    over: Over = "folds"

    @property
    def title(self) -> str:
        """The name of the task, with what differs from its own size and seed."""
        return self.size.title

    @property
    def selected(self) -> ModelResult | None:
        """NPF (selected), if there is one."""
        return self.models[0] if self.models and self.models[0].title == OURS else None

    @property
    def baselines(self) -> list[ModelResult]:
        """The models that are not point-forms."""
        return [model for model in self.models if not model.ours]


def compare(
    records: Iterable[Record],
    rows: Iterable[Row] = (),
    every: bool = False,
    over: Over = "folds",
    reference: Reference | None = None,
) -> list[Comparison]:
    """Compare the models of every task and size among the records.

    Parameters
    ----------
    records : iterable of Record
        Fits, in any order.
    rows : iterable of Row, default ()
        Rows of a manifest, so that models without a fit yet are listed too.
    every : bool, default False
        Keep every row by itself. Otherwise a model with several rows is one result, selected on
        validation data.
    over : {"folds", "fits"}, default "folds"
        What counts as one difference; see :func:`~pointforms.bench.paired_test.paired_test`.
    reference : callable, optional
        Published values to show beside ours: (task, title of a model) -> Estimate or None. They
        are used only where the task has its full size and real data.

    Returns
    -------
    list of Comparison
        One per task and size, ordered by name.

    Examples
    --------
    >>> fits = [Record(Row("colocated", "mlp"), fold, 0, auroc=0.7) for fold in range(3)]
    >>> [(one.title, [model.name for model in one.models]) for one in compare(fits)]
    [('colocated', ['MLP'])]
    """
    by_size: dict[Size, tuple[list[Record], set[Row]]] = {}
    for record in records:
        fits, its_rows = by_size.setdefault(record.row.size, ([], set()))
        fits.append(record)
        its_rows.add(record.row)
    for row in rows:
        by_size.setdefault(row.size, ([], set()))[1].add(row)
    comparisons = []
    for size in sorted(by_size, key=repr):
        models = _models(*by_size[size], every, over)
        comparisons.append(Comparison(size, _with_reference(size, models, reference), over))
    return comparisons


def _models(
    records: list[Record], rows: set[Row], every: bool, over: Over
) -> tuple[ModelResult, ...]:
    """The models of one task, compared with NPF (selected) where there is one."""
    by_row: dict[Row, list[Record]] = {row: [] for row in rows}
    for record in sorted(records, key=lambda record: (record.fold, record.seed)):
        by_row[record.row].append(record)
    ranks = {name: rank for rank, name in enumerate(MODELS)}
    names = sorted({row.model for row in rows}, key=lambda m: (ranks.get(m, len(ranks)), m))
    ours = _selection(OURS, {row: fits for row, fits in by_row.items() if is_point_form(row)})
    results = [] if ours is None else [ours]
    for name in names:
        own = {row: by_row[row] for row in sorted(by_row, key=lambda r: r.key) if row.model == name}
        title = next(iter(own)).title
        selection = None if every or len(own) == 1 else _selection(title, own)
        if selection is not None:
            results.append(selection)
            continue
        for row, fits in own.items():
            shown = title if len(own) == 1 else f"{title} ({_differing_options(row, list(own))})"
            counts = _count(fits)
            results.append(ModelResult(shown, title, is_point_form(row), tuple(fits), 1, *counts))
    return tuple(results if ours is None else _tested(results, over))


def _selection(title: str, fits: Mapping[Row, list[Record]]) -> ModelResult | None:
    """The selection from some rows; None where nothing can be selected."""
    pool = [record for records in fits.values() for record in records]
    chosen = select(pool, fits)
    if not chosen:
        return None
    candidates = sum(_count(records)[0] > 0 for records in fits.values())
    of = f", of {candidates}" if candidates > 1 else ""
    name = f"{title.removesuffix(' (selected)')} (selected{of})"
    ours = is_point_form(chosen[0].row)
    return ModelResult(name, title, ours, tuple(chosen), candidates, *_count(pool))


def _count(records: Sequence[Record]) -> tuple[int, int]:
    """Number of fits that finished, and that failed."""
    failed = sum(record.error is not None for record in records)
    return len(records) - failed, failed


def _tested(results: list[ModelResult], over: Over) -> list[ModelResult]:
    """All results with their test against the first, and adjusted p for the baselines."""
    first, *others = results
    tests = [paired_test(other.finished, first.finished, over=over) for other in others]
    baselines = [test.p for test, other in zip(tests, others, strict=True) if not other.ours]
    adjusted = iter(holm(baselines))
    return [
        first,
        *(
            replace(other, test=test, p=nan if other.ours else next(adjusted))
            for other, test in zip(others, tests, strict=True)
        ),
    ]


def _with_reference(
    size: Size, models: tuple[ModelResult, ...], reference: Reference | None
) -> tuple[ModelResult, ...]:
    """The models with their published values, where the task has its full size and real data."""
    if reference is None or size.clouds or size.points or size.is_simulated:
        return models
    return tuple(
        replace(model, paper=reference(size.task, model.title) or Estimate()) for model in models
    )


def _differing_options(row: Row, rows: Sequence[Row]) -> str:
    """The options by which a row differs from the others."""
    names = sorted({name for one in rows for name in one.options})
    differing = [
        f"{name}={row.options[name]}"
        for name in names
        if name in row.options and any(one.options.get(name) != row.options[name] for one in rows)
    ]
    return ", ".join(differing) or "defaults"

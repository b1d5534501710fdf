"""Models compared on one task: one :class:`ModelResult` per model, with the reference first.

The reference is the model that the others are tested against: NPF (selected), or one of choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, nan
from typing import Any

from pointforms.bench.paired_test import Over, PairedTest, paired_test
from pointforms.bench.records import Record, Row, Size, model_title, titles
from pointforms.bench.selection import eligible, is_point_form, select
from pointforms.models import MODELS
from pointforms.support.statistics import Difference, Estimate, holm, holm_factors, interval
from pointforms.support.suggestions import suggest

OURS = "NPF (selected)"

#: Published AUROC of a model on a task, such as that of the paper: (task, model's title) -> value.
Published = Callable[[str, str], Estimate | None]


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
        Number of rows it could be selected from: those that have all seeds in a fold.
    tried : int, default 0
        Number of fits of all those rows that finished.
    failed : int, default 0
        Number of fits of all those rows that failed.
    test : PairedTest, default PairedTest()
        This model minus the reference.
    p : float, default nan
        The p-value of the test, adjusted for the number of models that are tested; NaN for those
        that are not, such as the rows that the reference was selected from.
    comparisons : float, default 1
        What the adjustment multiplies the p-value of the test by.
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
    comparisons: float = 1.0
    paper: Estimate = field(default_factory=Estimate)

    @cached_property
    def finished(self) -> list[Record]:
        """The fits that did not fail."""
        return [record for record in self.records if record.error is None]

    @property
    def difference(self) -> Difference:
        """AUROC minus that of the reference, with its adjusted interval and p-value."""
        test = self.test
        return Difference(test.difference, *test.adjusted(self.comparisons), self.p, test.p)

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
        The reference first, if there is one; the others in the order of the registry.
    over : {"folds", "fits"}, default "folds"
        What counts as one difference in the tests.
    reference : ModelResult, optional
        The model that the others are tested against: the first of `models`. None where the task
        has no fits of it.
    reference_title : str, default "NPF (selected)"
        What the reference is called.
    title : str, default ""
        The name of the task in tables; by default the title of its size.

    Examples
    --------
    >>> rows = [Row("colocated", model) for model in ("npf-tri-1", "mlp")]
    >>> fits = [Record(row, 0, 0, auroc=0.8, validation_loss=0.4) for row in rows]
    >>> [comparison] = compare(fits)
    >>> comparison.reference.name, [model.name for model in comparison.compared]
    ('NPF (selected)', ['MLP'])
    >>> [comparison] = compare(fits, reference="mlp")
    >>> comparison.reference.name, [model.name for model in comparison.compared]
    ('MLP', ['NPF-Tri k=1'])
    """

    size: Size
    models: tuple[ModelResult, ...]
    over: Over = "folds"
    reference: ModelResult | None = None
    reference_title: str = OURS
    title: str = ""

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", self.size.title)

    @property
    def selected(self) -> ModelResult | None:
        """NPF (selected), if there is one; it repeats fits of the point-forms."""
        return next((model for model in self.models if model.title == OURS), None)

    @property
    def baselines(self) -> list[ModelResult]:
        """The models that are not point-forms."""
        return [model for model in self.models if not model.ours]

    @property
    def compared(self) -> list[ModelResult]:
        """The models that are tested against the reference; none without a reference.

        These are all others, except those that the reference may have been selected from.
        """
        first = self.reference
        if first is None:
            return []
        return [one for one in self.models if one is not first and not _is_candidate(one, first)]

    @property
    def distinct(self) -> list[ModelResult]:
        """The models without those that only repeat fits of others: every fit occurs once."""
        rows = Counter(model.title for model in self.models)
        return [
            model
            for model in self.models
            if model is not self.selected
            and not (model is self.reference and rows[model.title] > 1)  # its rows are listed too
        ]

    @property
    def listed(self) -> list[ModelResult]:
        """The models that tables and pictures show: all but one that only repeats the reference.

        It does where NPF (selected) is chosen from the rows of one kind of point-forms, which are
        one line by their own selection too. A published value is a reason to show that line.
        """
        forms = [model for model in self.models if model.ours and model is not self.selected]
        alone = len(forms) == 1 and self.reference is self.selected is not None
        if alone and forms[0].candidates > 1 and not isfinite(forms[0].paper.mean):
            return [model for model in self.models if model is not forms[0]]
        return list(self.models)

    @property
    def noun(self) -> str:
        """What a model that is tested against the reference is called in sentences."""
        return "baseline" if self.reference_title == OURS else "model"


def compare(
    records: Iterable[Record],
    rows: Iterable[Row] = (),
    every: bool = False,
    over: Over = "folds",
    published: Published | None = None,
    reference: str | None = None,
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
    published : callable, optional
        Published values to show beside ours: (task, title of a model) -> Estimate or None. They
        are used only where the task has its full size and real data.
    reference : str, optional
        Name of the model that every other model is tested against, such as "random-forest". By
        default it is NPF (selected), and only baselines are tested.

    Returns
    -------
    list of Comparison
        One per task and size, ordered by name.

    Raises
    ------
    ValueError
        If neither a record nor a row is of the reference.

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
    check_reference(reference, (row for _, own in by_size.values() for row in own))
    reference_title = OURS if reference is None else model_title(reference)
    names = titles(by_size)
    comparisons = []
    for size in sorted(by_size, key=repr):
        first, others = _results(*by_size[size], every, reference)
        tested = others if first is None else _tested(first, others, over)
        models = _with_published(size, tested, published)
        known = None if first is None else models[0]
        comparisons.append(Comparison(size, models, over, known, reference_title, names[size]))
    return comparisons


def check_reference(reference: str | None, rows: Iterable[Row]) -> None:
    """Raise an error if a reference is named of which there is no row.

    Examples
    --------
    >>> check_reference("mpl", [Row("colocated", "mlp")])
    Traceback (most recent call last):
    ValueError: no fits of the reference 'mpl': did you mean 'mlp'?
    """
    known = _in_order({row.model for row in rows})
    if reference is not None and reference not in known:
        raise ValueError(f"no fits of the reference {reference!r}: {suggest(reference, known)}")


def _in_order(names: Collection[str]) -> list[str]:
    """Names of models in the order of the registry, those that it does not have last."""
    ranks = {name: rank for rank, name in enumerate(MODELS)}
    return sorted(names, key=lambda name: (ranks.get(name, len(ranks)), name))


def _results(
    records: list[Record], rows: set[Row], every: bool, reference: str | None
) -> tuple[ModelResult | None, list[ModelResult]]:
    """The reference of one task, where there is one, and the other models."""
    by_row: dict[Row, list[Record]] = {row: [] for row in rows}
    for record in sorted(records, key=lambda record: (record.fold, record.seed)):
        by_row[record.row].append(record)
    by_model: dict[str, dict[Row, list[Record]]] = {
        name: {} for name in _in_order({row.model for row in rows})
    }
    for row in sorted(by_row, key=lambda row: row.key):
        by_model[row.model][row] = by_row[row]
    ours = _selection(OURS, {row: fits for row, fits in by_row.items() if is_point_form(row)})
    results = [one for own in by_model.values() for one in _results_of_model(own, every)]
    if reference is None:
        return ours, results
    # with a single line of point-forms it is that line
    if ours is not None and sum(result.ours for result in results) > 1:
        results.insert(0, ours)
    # its selection, even where every row is shown
    lines = _results_of_model(by_model.get(reference, {}), every=False)
    first = lines[0] if len(lines) == 1 else None
    return first, [one for one in results if first is None or one.name != first.name]


def _results_of_model(fits: Mapping[Row, list[Record]], every: bool) -> list[ModelResult]:
    """One result for all rows of a model, or one for each if that is wanted or unavoidable."""
    if not fits:
        return []
    title = next(iter(fits)).title
    selection = None if every or len(fits) == 1 else _selection(title, fits)
    if selection is not None:
        return [selection]
    results = []
    for row, records in fits.items():
        name = title if len(fits) == 1 else f"{title} ({_differing_options(row, list(fits))})"
        own = tuple(records)
        results.append(ModelResult(name, title, is_point_form(row), own, 1, *_count(own)))
    return results


def _selection(title: str, fits: Mapping[Row, list[Record]]) -> ModelResult | None:
    """The selection from some rows; None where nothing can be selected."""
    pool = [record for records in fits.values() for record in records]
    chosen = select(pool, fits)
    if not chosen:
        return None
    candidates = len(eligible(pool, fits))
    of = f", of {candidates}" if candidates > 1 else ""
    name = f"{title.removesuffix(' (selected)')} (selected{of})"
    ours = is_point_form(chosen[0].row)
    return ModelResult(name, title, ours, tuple(chosen), candidates, *_count(pool))


def _count(records: Sequence[Record]) -> tuple[int, int]:
    """Number of fits that finished, and that failed."""
    failed = sum(record.error is not None for record in records)
    return len(records) - failed, failed


def _is_candidate(result: ModelResult, reference: ModelResult) -> bool:
    """Whether a result is of a row, or rows, that the reference was selected from."""
    return result.ours if reference.title == OURS else result.title == reference.title


def _tested(first: ModelResult, others: list[ModelResult], over: Over) -> list[ModelResult]:
    """The reference, and the others with their test against it; p is adjusted for their number."""
    tests = [paired_test(other.finished, first.finished, over=over) for other in others]
    counted = [
        nan if _is_candidate(other, first) else test.p
        for other, test in zip(others, tests, strict=True)
    ]
    adjusted = zip(others, tests, holm(counted), holm_factors(counted), strict=True)
    return [
        first,
        *(
            replace(other, test=test, p=p, comparisons=factor)
            for other, test, p, factor in adjusted
        ),
    ]


def _with_published(
    size: Size, models: Sequence[ModelResult], published: Published | None
) -> tuple[ModelResult, ...]:
    """The models with their published values, where the task has its full size and real data."""
    if published is None or size.clouds or size.points or size.is_simulated:
        return tuple(models)
    return tuple(
        replace(model, paper=published(size.task, model.title) or Estimate()) for model in models
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

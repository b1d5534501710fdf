"""What fits of folds × seeds say of a model, of two models, and of the best of several rows.

Fits are not independent: those of one fold share their test clouds, those of two folds most of
their training clouds. An interval that ignores it describes the spread of the fits; a claim that
one model beats another needs the correction of :func:`paired`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt
from typing import Literal

import numpy as np
from scipy.stats import t as student

from pointforms.bench.records import Record, Row
from pointforms.models import MODELS

Over = Literal["fits", "folds"]


def interval(
    values: Iterable[float], folds: Sequence[int] | None = None
) -> tuple[float, float | None]:
    """Mean, and half the width of its 95 % interval by Student's t; NaN values are left out.

    As in the paper, and as tables show it, every fit counts as one value. Seeds of one fold share
    their clouds, so this is too narrow for what other clouds would give. With `folds`, the fold
    of every value, the seeds of a fold are averaged first and only folds count: wider, and
    closer to the truth.

    Returns
    -------
    mean : NaN if there is no value
    half : None if there is one or none
    """
    found = np.fromiter(values, dtype=np.float64)
    kept = np.isfinite(found)
    if folds is not None:
        fold = np.asarray(folds)[kept]
        found = np.array([found[kept][fold == f].mean() for f in np.unique(fold)])
    else:
        found = found[kept]
    if len(found) < 2:
        return (float(found[0]) if len(found) else nan), None
    error = found.std(ddof=1) / sqrt(len(found))
    return float(found.mean()), float(student.ppf(0.975, len(found) - 1) * error)


@dataclass(frozen=True)
class Paired:
    """One model less another, on the fits that both have.

    Attributes
    ----------
    difference : mean of the differences; NaN without a pair
    low, high : 95 % interval; NaN where there is no test
    p : two-sided; NaN where there is no test
    pairs : pairs (fold, seed) that both have and that succeeded
    """

    difference: float = nan
    low: float = nan
    high: float = nan
    p: float = nan
    pairs: int = 0


def paired(
    a: Sequence[Record], b: Sequence[Record], metric: str = "auroc", over: Over = "folds"
) -> Paired:
    """The corrected resampled t-test of a - b (Nadeau and Bengio, 2003).

    With J differences of variance s² the mean is taken to have the variance

        (1/J + n_test / n_train) s²,

    the second term for training clouds that the folds share, and is held against Student's t
    with J - 1 degrees of freedom. Equal differences have s = 0: p is 1 if they are zero, else 0,
    unless there are but two, which may be equal by chance.

    Parameters
    ----------
    a, b : fits of one model each, on the same clouds and folds, in any order
        Compared on the pairs (fold, seed) that both have, without those that failed.
    metric : an attribute of records
    over : "fits" or "folds"
        What one difference is: a pair (fold, seed), or the mean over the seeds of a fold. Seeds
        repeat the training, not the split, so where they hardly vary J = folds × seeds counts
        one fold several times and the test rejects too often; folds never do, with less power.
    """
    first, second = _by_fit(a), _by_fit(b)
    differences: dict[tuple[int, int], float] = {}
    for pair in sorted(first.keys() & second.keys()):
        difference = getattr(first[pair], metric) - getattr(second[pair], metric)
        if isfinite(difference):
            differences[pair] = difference
    if not differences:
        return Paired()
    pairs = len(differences)
    if over == "folds":
        by_fold = defaultdict(list)
        for (fold, _), difference in differences.items():
            by_fold[fold].append(difference)
        d = np.array([np.mean(values) for values in by_fold.values()])
    else:
        d = np.array(list(differences.values()))
    mean = float(d.mean())
    shared = _test_to_train([first[pair] for pair in differences])
    J = len(d)
    if J < 2 or not isfinite(shared):
        return Paired(mean, pairs=pairs)
    if np.ptp(d) <= 1e-12 * max(1.0, np.abs(d).max()):  # equal up to rounding
        if abs(mean) <= 1e-12:
            return Paired(mean, mean, mean, 1.0, pairs)
        return Paired(mean, mean, mean, 0.0 if J > 2 else nan, pairs)
    error = sqrt((1 / J + shared) * d.var(ddof=1))
    half = float(student.ppf(0.975, J - 1)) * error
    p = float(2 * student.sf(abs(mean) / error, J - 1))
    return Paired(mean, mean - half, mean + half, p, pairs)


def holm(ps: Sequence[float]) -> list[float]:
    """p-values adjusted for being several, by Holm's step-down method; NaN stays, uncounted.

    The i-th smallest of m becomes max over j ≤ i of min(1, (m - j + 1) p_j): to reject where it
    is below 0.05 errs anywhere with probability at most 0.05, whatever depends on what.
    """
    adjusted = [nan] * len(ps)
    order = sorted((i for i, p in enumerate(ps) if isfinite(p)), key=lambda i: ps[i])
    largest = 0.0
    for step, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - step) * ps[i]))
        adjusted[i] = largest
    return adjusted


def selected(
    records: Iterable[Record], rows: Iterable[Row] | None = None, by: str = "validation_loss"
) -> list[Record]:
    """The fits of the row that does best on validation data, chosen anew in every fold.

    In each fold a row's loss is the mean over its seeds. Only rows that have all the seeds of the
    best covered row can be chosen, so a lucky single fit cannot win. Test metrics are never read:
    what they are does not change the choice.

    Parameters
    ----------
    records : of one task or several; each task, size and seed of clouds chooses by itself
    rows : the candidates; by default all of the family "point-forms"
    by : an attribute of records measured on validation data, smaller is better

    Returns
    -------
    list of Record, by task, fold and seed; each says by its row what was chosen
    """
    if not by.startswith("validation_"):
        raise ValueError(f"by={by!r}: rows are selected on validation data, not on test data")
    wanted = None if rows is None else set(rows)
    cells: dict[tuple[str, int], dict[Row, dict[int, Record]]] = {}
    for record in records:
        candidate = is_point_form(record.row) if wanted is None else record.row in wanted
        if candidate and record.error is None and isfinite(getattr(record, by)):
            cell = cells.setdefault((repr(record.row.size), record.fold), {})
            fits = cell.setdefault(record.row, {})
            if record.seed in fits:
                raise ValueError(_twice(record))
            fits[record.seed] = record
    chosen: list[Record] = []
    for _, cell in sorted(cells.items()):
        # the most seeds; among equally many the first, so that the order of records is nothing
        seeds = min((tuple(sorted(fits)) for fits in cell.values()), key=lambda s: (-len(s), s))
        complete = [(row.key, fits) for row, fits in cell.items() if set(seeds) <= set(fits)]
        _, best = min(
            complete, key=lambda one: (np.mean([getattr(one[1][s], by) for s in seeds]), one[0])
        )
        chosen += [best[s] for s in seeds]
    return chosen


def is_point_form(row: Row) -> bool:
    """Whether a row is one of ours."""
    return row.model in MODELS and MODELS[row.model].family == "point-forms"


def _by_fit(records: Sequence[Record]) -> dict[tuple[int, int], Record]:
    found: dict[tuple[int, int], Record] = {}
    for record in records:
        if (record.fold, record.seed) in found:
            raise ValueError(_twice(record))
        found[record.fold, record.seed] = record
    return found


def _twice(record: Record) -> str:
    return f"fold {record.fold}, seed {record.seed} occurs twice: {record.row.key}"


def _test_to_train(records: Sequence[Record]) -> float:
    """The mean n_test / n_train; NaN where sizes are not known."""
    if any(record.train_size <= 0 for record in records):
        return nan
    return float(np.mean([record.test_size / record.train_size for record in records]))

"""Selection of the best configuration on validation data, anew in every fold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite

import numpy as np

from pointforms.bench.records import Record, Row, duplicate_fit
from pointforms.models import MODELS


def select(
    records: Iterable[Record], rows: Iterable[Row] | None = None, by: str = "validation_loss"
) -> list[Record]:
    """Return the fits of the row that does best on validation data, chosen anew in every fold.

    In each fold the loss of a row is the mean over its seeds. Only rows that have all the seeds of
    the best covered row can be chosen, so that a lucky single fit cannot win. Test metrics are
    never read and cannot influence the choice.

    Parameters
    ----------
    records : iterable of Record
        Fits of one task or several. Each task, size and seed of clouds is selected by itself.
    rows : iterable of Row, optional
        The candidates. By default all rows of the family "point-forms".
    by : str, default "validation_loss"
        The attribute of records to minimise; it must be measured on validation data.

    Returns
    -------
    list of Record
        Ordered by task, fold and seed. The row of each record says what was chosen.

    Examples
    --------
    >>> tri, flat = Row("circles-vs-lines", "npf-tri-1"), Row("circles-vs-lines", "npf-flat-1")
    >>> fits = [
    ...     Record(tri, 0, 0, auroc=0.90, validation_loss=0.2),
    ...     Record(flat, 0, 0, auroc=0.95, validation_loss=0.3),
    ... ]
    >>> [record.row.model for record in select(fits)]
    ['npf-tri-1']
    """
    chosen: list[Record] = []
    for seeds, complete in _complete_rows(records, rows, by):
        _, best = min(
            complete.items(),
            key=lambda one: (np.mean([getattr(one[1][s], by) for s in seeds]), one[0].key),
        )
        chosen += [best[s] for s in seeds]
    return chosen


def eligible(
    records: Iterable[Record], rows: Iterable[Row] | None = None, by: str = "validation_loss"
) -> set[Row]:
    """Return the rows that :func:`select` can choose: in some fold they have all its seeds.

    Parameters
    ----------
    records : iterable of Record
        Fits of one task or several.
    rows : iterable of Row, optional
        The candidates. By default all rows of the family "point-forms".
    by : str, default "validation_loss"
        The attribute of records to minimise.

    Examples
    --------
    >>> tri, flat = Row("circles-vs-lines", "npf-tri-1"), Row("circles-vs-lines", "npf-flat-1")
    >>> fits = [Record(tri, 0, seed, validation_loss=0.2) for seed in (0, 1)]
    >>> fits.append(Record(flat, 0, 0, validation_loss=0.1))  # one seed only
    >>> [row.model for row in eligible(fits)]
    ['npf-tri-1']
    """
    return {row for _, complete in _complete_rows(records, rows, by) for row in complete}


def _complete_rows(
    records: Iterable[Record], rows: Iterable[Row] | None, by: str
) -> Iterator[tuple[tuple[int, ...], dict[Row, dict[int, Record]]]]:
    """Yield, for each task and fold, its seeds and the rows that have all of them."""
    if not by.startswith("validation_"):
        raise ValueError(f"by={by!r}: rows are selected on validation data, not on test data")
    candidates = None if rows is None else set(rows)
    cells: dict[tuple[str, int], dict[Row, dict[int, Record]]] = {}
    for record in records:
        is_candidate = is_point_form(record.row) if candidates is None else record.row in candidates
        if is_candidate and record.error is None and isfinite(getattr(record, by)):
            cell = cells.setdefault((repr(record.row.size), record.fold), {})
            fits = cell.setdefault(record.row, {})
            if record.seed in fits:
                raise ValueError(duplicate_fit(record))
            fits[record.seed] = record
    for _, cell in sorted(cells.items()):
        # the most seeds; ties go to the first, so that the order of records does not matter
        seeds = min((tuple(sorted(fits)) for fits in cell.values()), key=lambda s: (-len(s), s))
        yield seeds, {row: fits for row, fits in cell.items() if set(seeds) <= set(fits)}


def is_point_form(row: Row) -> bool:
    """Whether the model of a row is a point-form, not a baseline."""
    return row.model in MODELS and MODELS[row.model].family == "point-forms"

"""Selection on validation data."""

from dataclasses import replace

import numpy as np
import pytest
from tests.bench.test_paired_test import FOREST, TRI, fits, shuffled

from pointforms.bench.records import Record, Row
from pointforms.bench.selection import select

FLAT = Row("circles-vs-lines", "npf-flat-1")
VOLUME = Row("circles-vs-lines", "npf-tri-1", {"measure": "volume-normalized"})


def _grid(seed=0):
    """Three rows of ours, a baseline that would win, and five folds of two seeds."""
    rng = np.random.default_rng(seed)
    return [
        replace(record, validation_loss=rng.uniform())
        for row in (TRI, FLAT, VOLUME, FOREST)
        for record in fits(row, rng.uniform(size=10))
    ]


def _chosen(records, *args):
    return [(r.row, r.fold, r.seed) for r in select(records, *args)]


def test_least_mean_validation_loss_of_every_fold():
    records = _grid()
    found = select(records)
    assert [(r.fold, r.seed) for r in found] == [(f, s) for f in range(5) for s in range(2)]
    for fold in range(5):
        losses = {
            row: np.mean([r.validation_loss for r in records if r.row == row and r.fold == fold])
            for row in (TRI, FLAT, VOLUME)
        }
        rows = {r.row for r in found if r.fold == fold}
        assert rows == {min(losses, key=losses.get)}
    assert len({r.row for r in found}) > 1


def test_selection_never_sees_the_test_fold():
    records = _grid()
    rng = np.random.default_rng(7)
    changed = [
        replace(r, auroc=rng.uniform(), accuracy=rng.uniform(), log_loss=rng.uniform())
        for r in records
    ]
    blind = [replace(r, auroc=np.nan, accuracy=np.nan, log_loss=np.nan) for r in records]
    assert _chosen(changed) == _chosen(records) == _chosen(blind)
    for metric in ("auroc", "log_loss", "accuracy"):
        with pytest.raises(ValueError, match="not on test data"):
            select(records, by=metric)


def test_selection_does_not_depend_on_order():
    records = _grid()
    equal = [replace(r, validation_loss=0.5) for r in records]
    for given in (records, equal):
        assert _chosen(shuffled(given)) == _chosen(given)


def test_a_lucky_single_seed_cannot_win():
    records = fits(TRI, [0.6] * 10, validation=0.5)
    lucky = [replace(r, row=FLAT, validation_loss=0.1) for r in records if r.seed == 0]
    assert {r.row for r in select(records + lucky)} == {TRI}
    rest = [replace(r, row=FLAT, validation_loss=0.2) for r in records if r.seed == 1]
    assert {r.row for r in select(records + lucky + rest)} == {FLAT}


def test_failed_fits_are_not_covered():
    records = fits(TRI, [0.6, 0.6], folds=1) + fits(FLAT, [0.6, 0.6], folds=1, validation=0.1)
    records[3] = Record(FLAT, 0, 1, error="Traceback")
    assert {r.row for r in select(records)} == {TRI}


def test_rows_may_be_given_and_tasks_choose_by_themselves():
    records = _grid()
    assert {r.row for r in select(records, [FOREST])} == {FOREST}
    other = [replace(r, row=replace(r.row, task="colocated")) for r in _grid(1)]
    assert len(select(records + other)) == 20
    assert select([]) == []

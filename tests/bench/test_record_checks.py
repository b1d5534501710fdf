"""Records: what no fit can be is refused, wherever it comes from."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from pointforms.bench.records import Record, Row
from pointforms.bench.store import Store

ROW = Row("colocated", "mlp")
FIT = Record(
    ROW, 4, 0, 0.5, 1.0, 34.5, nan, 80, 2, 10, 0.0, 1 << 40, 3,
    clouds=np.array([3, 1]), probabilities=np.array([[0.0, 1.0], [0.5, 0.5]]),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fold", -1), ("fold", 5), ("fold", 0.0), ("fold", True), ("fold", None),
        ("seed", -3), ("seed", 2**31),
        ("auroc", -5.0), ("auroc", 1.5), ("auroc", inf), ("auroc", "0.5"),
        ("accuracy", -0.1), ("log_loss", -1.0), ("log_loss", inf), ("brier", -0.1), ("brier", 2.1),
        ("validation_loss", -inf), ("validation_loss", inf),
        ("seconds", -1.0), ("seconds", inf),
        ("train_size", -1), ("test_size", -1), ("test_size", 3), ("parameters", -1),
        ("memory", -1), ("epochs", -1), ("epochs", 2**63),
        ("clouds", np.array([3, 3])), ("clouds", np.array([-1, 2])), ("clouds", np.array([1])),
        ("clouds", None), ("probabilities", None),
        ("probabilities", np.array([[0.0, 1.5], [0.5, 0.5]])),
        ("probabilities", np.array([[0.0, 1.0], [nan, 0.5]])),
        ("probabilities", np.array([0.0, 1.0])),
    ],
)  # fmt: skip
def test_impossible_values_are_refused(name, value):
    with pytest.raises(ValueError, match=rf"{name}.*seed .* of mlp on colocated"):
        replace(FIT, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("clouds", 0), ("points", -2), ("points", 2.5), ("task_seed", -1), ("task", ""), ("model", 3)],
)
def test_impossible_rows_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r}: expected"):
        replace(ROW, **{name: value})


def test_numbers_of_numpy_are_numbers():
    assert replace(FIT, fold=np.int64(1), auroc=np.float32(0.5)).fold == 1


def test_the_limits_of_a_number_are_named():
    with pytest.raises(ValueError, match=r"brier=3\.0: expected a finite number from 0 to 2 \("):
        replace(FIT, brier=3.0)
    assert replace(FIT, brier=2.0).brier == 2.0


def test_what_is_wrong_in_a_store_is_named(tmp_path):
    """As `npf import` of version 0.1.0 accepted it."""
    with Store(tmp_path / "results.db") as store:
        store.finish(None, [FIT])
        store._db.execute("UPDATE fits SET auroc = -5")
        with pytest.raises(ValueError, match=r"auroc=-5.0: .*fold 4, seed 0 of mlp on colocated"):
            store.records()

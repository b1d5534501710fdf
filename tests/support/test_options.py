from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator

from pointforms.support.options import (
    Bounds,
    Count,
    NotEmpty,
    Positive,
    RandomState,
    check_option,
    check_options,
    shown,
)

SHARE = Annotated[float, Bounds(at_least=0, below=1)]
WORD = Literal["mean", "point"]
PATH = str | os.PathLike[str] | None
WEIGHTS = Literal["balanced"] | dict[Any, Positive] | None


@pytest.mark.parametrize(("hint", "values"), [
    (Count, [1, np.int32(3), 10**18]),
    (Positive, [1, 0.5, np.float32(2), Fraction(1, 3)]),
    (SHARE, [0, 0.0, 0.999]),
    (bool, [True, np.bool_(False)]),
    (WORD, ["mean", np.str_("point")]),
    (Sequence[Count], [(1, 2), [3], np.array([4, 5]), range(1, 3), ()]),
    (Annotated[Sequence[int], NotEmpty()] | int, [3, [3]]),
    (bool | Literal["point"], [True, "point"]),
    (PATH, ["x", Path("x"), None]),
    (WEIGHTS, [{0: 1, "a": 0.5}, {}, "balanced", None]),
    (RandomState, [0, 2**32 - 1, np.random.RandomState(0), None]),
    (Any, [object(), None]),
])  # fmt: skip
def test_allowed(hint, values):
    for value in values:
        check_option("k", value, hint)


@pytest.mark.parametrize(("hint", "values", "expected"), [
    (Count, [0, -1, 1.0, True, "3", None, 10**30, np.array(3), torch.tensor(3)],
     "a whole number of at least 1"),
    (Positive, [0, -0.5, np.nan, np.inf, 10**400, True, "1", None, 1j], "a finite number above 0"),
    (SHARE, [1, -1e-9], "a finite number of at least 0 and below 1"),
    (bool, [1, 0, None, "True"], "True or False"),
    (WORD, ["median", 1, None, ["mean"], np.array(["mean"])], "one of 'mean', 'point'"),
    (Sequence[Count], [16, "12", {1, 2}, [0], (2.5,), np.eye(2, dtype=int)],
     "a sequence, each item a whole number of at least 1"),
    (Annotated[Sequence[int], NotEmpty()], [()],
     "a sequence, each item a whole number (at least one)"),
    (int | Literal["auto"] | None, ["none", 1.5], "a whole number or 'auto' or None"),
    (PATH, [3, b"x"], "text or a path or None"),
    (WEIGHTS, [{0: 0}, {0: "a"}, "even", 3],
     "'balanced' or a dictionary, each value a finite number above 0 or None"),
    (RandomState, [-1, 2**32, np.random.default_rng(0)],
     "a whole number of at least 0 and below 4294967296 or a RandomState or None"),
])  # fmt: skip
def test_refused(hint, values, expected):
    for value in values:
        with pytest.raises(ValueError) as caught:
            check_option("k", value, hint)
        assert str(caught.value) == f"k={shown(value)}: expected {expected}"


def test_long_values_are_cut():
    with pytest.raises(ValueError, match=r"^k=\[0, 0, .{0,200}…: expected a whole number"):
        check_option("k", [0] * 10_000, Count)
    with pytest.raises(ValueError, match=r"^k=a int that cannot be shown"):
        check_option("k", -(10**5000), Count)


def test_subclasses_of_others_need_no_hints_that_can_be_resolved():
    class Ours(BaseEstimator):
        size: Count

        def __init__(self, size=3):
            self.size = size

    class Theirs(Ours):
        color: NowhereDefined  # noqa: F821

        def __init__(self, size=3, color=None, shape=None):
            super().__init__(size)
            self.color, self.shape = color, shape

    check_options(Theirs(color="red", shape=()))
    with pytest.raises(ValueError, match="size=0"):
        check_options(Theirs(size=0))

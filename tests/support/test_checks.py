from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pointforms.support.checks import check_choice, check_int, check_positive, check_real, is_word


def test_numbers_of_numpy_pass():
    check_int("k", np.int32(3), at_least=3)
    check_real("alpha", np.float32(-1))
    check_positive("bandwidth", np.float64(0.5))
    check_choice("center", "mean", "mean", "point")


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (1, ValueError, r"k=1: expected at least 2 or None$"),
        (2.0, TypeError, r"k=2.0: expected a whole number or None$"),
        (True, TypeError, r"k=True: expected a whole number"),
        ("many", ValueError, r"k='many': expected a whole number"),
    ],
)
def test_whole_numbers(value, error, message):
    with pytest.raises(error, match=message):
        check_int("k", value, at_least=2, or_else="None")


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (float("inf"), ValueError, "finite number"),
        (10**400, ValueError, "finite number"),
        (True, TypeError, "expected a number"),
        ("wide", ValueError, "expected a number"),
        (0.0, ValueError, "x=0.0: expected a positive number"),
    ],
)
def test_positive_numbers(value, error, message):
    with pytest.raises(error, match=message):
        check_positive("x", value)


def test_choices_agree_in_type():
    with pytest.raises(ValueError, match="calibrate=1: expected one of True, False, 'point'"):
        check_choice("calibrate", 1, True, False, "point")


@pytest.mark.parametrize("value", [np.array([1, 2]), np.array([]), pd.NA], ids=repr)
def test_what_cannot_be_compared_is_not_a_choice(value):
    with pytest.raises(ValueError, match=r"center=.*: expected one of 'mean', 'point'"):
        check_choice("center", value, "mean", "point")
    assert not is_word(value, "mean", "point")
    assert is_word(np.str_("mean"), "mean", "point")

"""Regressors by name."""

from __future__ import annotations

import pytest

import pointforms as pf


def test_they_are_made_by_name():
    made = pf.models.make_regressor("npf-regressor", random_state=0, degree=2)
    assert isinstance(made, pf.PointFormRegressor)
    assert made.degree == 2
    assert isinstance(pf.models.make_regressor("cloud-regressor"), pf.CloudRegressor)
    with pytest.raises(ValueError, match="did you mean 'cloud-regressor'"):
        pf.models.make_regressor("cloud-regresor")

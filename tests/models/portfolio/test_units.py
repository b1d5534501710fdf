"""Units of features do not matter, for portfolios with all parts as they are by default."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone


@pytest.fixture(params=["whole", "whole_regressor"])
def fitted(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(
    ("units", "tolerance"),
    [
        ([1024.0, 1.0, 1.0], 0.0),
        ([1.0, 2.0**-40, 2.0**30], 0.0),
        ([1000.0, 1.0, 1e-3], 0.01),
    ],
)
def test_predictions_do_not_depend_on_units(fitted, units, tolerance, two_classes, numbers):
    clouds, y = two_classes
    y = y if hasattr(fitted, "classes_") else numbers
    scaled = [cloud * units for cloud in clouds]
    model = clone(fitted).fit(scaled, y)
    assert np.abs(model.oof_predictions_ - fitted.oof_predictions_).max() <= tolerance
    method = "predict_proba" if hasattr(fitted, "classes_") else "predict"
    expected = getattr(fitted, method)(clouds)
    assert np.abs(getattr(model, method)(scaled) - expected).max() <= tolerance

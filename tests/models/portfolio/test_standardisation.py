from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from pointforms.models.portfolio.standardisation import centre_and_scale, standardised


@pytest.mark.parametrize("weighted", [False, True])
def test_mean_and_deviation_are_those_of_scikit_learn(weighted, rng):
    X = rng.normal(size=(50, 4)) * [1, 1e8, 1e-8, 3] + [0, 5, 1e-7, -2]
    weights = rng.uniform(size=50) if weighted else None
    scaler = StandardScaler().fit(X, sample_weight=weights)
    centre, scale = centre_and_scale(X, weights)
    np.testing.assert_allclose(centre, scaler.mean_, rtol=1e-10)
    np.testing.assert_allclose(scale, scaler.scale_, rtol=1e-10)


def test_powers_of_two_change_no_bit(rng):
    X = rng.normal(size=(50, 4)) + 3
    weights = rng.uniform(size=50)
    expected = standardised(X, *centre_and_scale(X, weights))
    for power in (-500, -10, 1, 10, 450):
        scaled = X * 2.0**power
        np.testing.assert_array_equal(
            standardised(scaled, *centre_and_scale(scaled, weights)), expected
        )


@pytest.mark.parametrize("value", [0.0, 0.1, -1e8, 1e-300, 1e150])
def test_rounding_errors_do_not_count(value):
    X = np.full((40, 1), value)
    X[::3] = np.nextafter(value, np.inf) if value else 0.0
    Z = standardised(X, *centre_and_scale(X, None))
    assert np.abs(Z).max() < 1e-12


def test_values_are_cut_off():
    Z = standardised(np.array([[1e300], [-1e300], [2.0]]), np.zeros(1), np.full(1, 1e-100))
    np.testing.assert_array_equal(Z, [[1e6], [-1e6], [1e6]])

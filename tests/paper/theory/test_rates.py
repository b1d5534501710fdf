"""Rates of the theory, and slopes of measurements."""

from __future__ import annotations

import numpy as np
import pytest

from pointforms.paper.theory import rates


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_coefficients_of_the_limit(d):
    """The Laplacian's exponents leave no drift; a fixed bandwidth leaves c₂ > 0."""
    assert rates.drift_coefficient(d, 0.5 - d / 4, -0.5) == pytest.approx(0)
    assert rates.density_exponent(d, 0.0, 0.0) == 0.5
    # α = 0: the error stays bounded where β < -1 / (d + 2)
    assert rates.density_exponent(d, 0.0, -1 / (d + 2)) == pytest.approx(0)
    assert rates.density_exponent(d, 0.0, -0.5) == pytest.approx(-d / 4)


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_predicted_slopes(d):
    theta = rates.balanced_theta(d)
    bias, density_noise, noise = rates.exponents(theta, d)
    assert bias == pytest.approx(density_noise)
    assert noise < bias
    assert rates.predicted_slope(theta, d) == pytest.approx(-2 / (d + 12))
    # no other coupling is faster, and at the ends of the interval nothing is promised
    inside = np.linspace(0.01, 0.99, 50) * rates.largest_theta(d)
    slopes = [rates.predicted_slope(t, d) for t in inside]
    assert min(slopes) >= rates.predicted_slope(theta, d) - 1e-12
    assert max(slopes) < 0
    assert max(rates.exponents(rates.largest_theta(d), d)) == pytest.approx(0)
    for outside in (0.0, rates.largest_theta(d), 1.0):
        with pytest.raises(ValueError, match="theta"):
            rates.predicted_slope(outside, d)


def test_a_fitted_slope_is_that_of_a_power():
    sizes = (100, 200, 400)
    assert rates.fitted_slope(sizes, [3 * n**-0.3 for n in sizes]) == pytest.approx(-0.3)

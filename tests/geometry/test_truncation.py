"""What a cut Gaussian keeps, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import gammainc

from pointforms.geometry.truncation import kept_second_moment, log_kept_mass

RADII_SQ = torch.tensor([1e-3, 0.1, 1.0, 3.0, 30.0], dtype=torch.float64)


@pytest.mark.parametrize("d", [1, 2, 3, 8, 50])
def test_closed_form(d):
    dimension = torch.tensor(float(d), dtype=torch.float64)
    x = RADII_SQ.numpy()
    P, P1 = gammainc(d / 2, x), gammainc(d / 2 + 1, x)
    np.testing.assert_allclose(log_kept_mass(dimension, RADII_SQ).numpy(), np.log(P), rtol=1e-7)
    np.testing.assert_allclose(kept_second_moment(dimension, RADII_SQ).numpy(), P1 / P, rtol=1e-7)


def test_closed_form_in_two_dimensions():
    d = torch.tensor(2.0, dtype=torch.float64)
    torch.testing.assert_close(log_kept_mass(d, RADII_SQ), torch.log(-torch.expm1(-RADII_SQ)))


def test_moments_of_a_cut_gaussian():
    """Second moment of exp(-|z|²) within R over its mass there, relative to the whole: d/2."""
    rng = np.random.default_rng(0)
    sq = (rng.normal(scale=0.5**0.5, size=(400_000, 3)) ** 2).sum(-1)
    for R2 in (0.5, 1.5, 4.0):
        d, x = torch.tensor(3.0), torch.tensor(R2)
        assert float(log_kept_mass(d, x).exp()) == pytest.approx(np.mean(sq < R2), rel=0.02)
        inside = sq[sq < R2].mean() / 1.5
        assert float(kept_second_moment(d, x)) == pytest.approx(inside, rel=0.02)


def test_vanishing_radii():
    d = torch.tensor(40.0, dtype=torch.float64)
    tiny = torch.tensor([0.0, 1e-300, 1e-30, 0.999e-6, 1.001e-6], dtype=torch.float64)
    mass, moment = log_kept_mass(d, tiny), kept_second_moment(d, tiny)
    assert mass[0] == 0.0
    assert moment[0] == 1.0
    assert torch.isfinite(mass).all()
    torch.testing.assert_close(moment[1:], tiny[1:] / 21, rtol=1e-6, atol=0)
    assert (mass[1:].diff() > 0).all()


def test_the_second_moment_underflows_before_the_mass():
    d = torch.tensor(3.0, dtype=torch.float64)
    x = torch.tensor([1e-130, 1e-125], dtype=torch.float64)
    torch.testing.assert_close(kept_second_moment(d, x), x / 2.5, rtol=1e-9, atol=0)

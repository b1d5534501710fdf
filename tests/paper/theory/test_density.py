"""The density check."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.integrate import quad

from pointforms.paper.theory import density


def test_the_integral_of_the_density_check():
    """∫⟨ω, x²ω⟩ = π on the circle, by quadrature over the tangent projector."""

    def integrand(t: float) -> float:
        p = torch.tensor([[math.cos(t), math.sin(t)]], dtype=torch.float64)
        tangent = torch.tensor([-math.sin(t), math.cos(t)], dtype=torch.float64)
        return float((density.omega(p) @ tangent) * (density.weighted_omega(p) @ tangent))

    assert quad(integrand, 0, 2 * math.pi)[0] == pytest.approx(density.INTEGRAL)


def test_density_correction_beats_none():
    """At κ = 2 clearly, for raw fields and projectors; where κ = 0 there is nothing to correct."""
    rows = density.density_check(range(5), kappas=(0.0, 2.0), noises=(0.0,))
    found = {(r.kappa, r.bandwidth, r.spectrum, r.density): r.error for r in rows}
    assert len(found) == len(rows) == 16
    assert (
        found[2.0, "variable", "raw", "corrected"]
        < 0.4 * found[2.0, "variable", "raw", "uncorrected"]
    )
    sharp = ("variable", "projector")
    assert found[2.0, *sharp, "corrected"] < 0.2 * found[2.0, *sharp, "uncorrected"]
    # where points are rare a fixed bandwidth sees only the point itself
    assert found[2.0, "variable", "raw", "corrected"] < found[2.0, "fixed", "raw", "corrected"]
    assert all(error < 0.15 for key, error in found.items() if key[0] == 0.0)


def test_density_correction_beats_none_under_noise():
    rows = density.density_check(range(5), kappas=(2.0,), noises=(0.02,), bandwidths=("variable",))
    found = {(r.spectrum, r.density): r.error for r in rows}
    assert all(row.main for row in rows)
    for spectrum in ("raw", "projector"):
        assert found[spectrum, "corrected"] < 0.8 * found[spectrum, "uncorrected"]

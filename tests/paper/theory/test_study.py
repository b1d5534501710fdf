from __future__ import annotations

import csv
import math

import numpy as np
import pytest
import torch
from scipy.integrate import dblquad, quad

from pointforms.exterior import compound
from pointforms.paper.theory import consistency as rates_of
from pointforms.paper.theory import density, rates, run
from pointforms.paper.theory.consistency import CIRCLE, MANIFOLDS, SPHERE, TORUS, Coupling
from pointforms.paper.theory.tables import consistency_table, density_table


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_coefficients_of_the_limit(d):
    """The Laplacian's exponents leave no drift; a fixed bandwidth leaves c₂ > 0."""
    assert rates.c1(d, 0.5 - d / 4, -0.5) == pytest.approx(0)
    assert rates.c2(d, 0.0, 0.0) == 0.5
    # α = 0: the error stays bounded where β < -1 / (d + 2)
    assert rates.c2(d, 0.0, -1 / (d + 2)) == pytest.approx(0)
    assert rates.c2(d, 0.0, -0.5) == pytest.approx(-d / 4)


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


def test_fits_and_intervals():
    sizes = (100, 200, 400)
    assert rates.fitted_slope(sizes, [3 * n**-0.3 for n in sizes]) == pytest.approx(-0.3)
    mean, half = rates.mean_interval(np.array([1.0, 3.0]))
    assert (float(mean), float(half)) == pytest.approx((2.0, 12.706), abs=1e-3)


def test_the_integral_of_the_density_check():
    """∫⟨ω, x²ω⟩ = π on the circle, by quadrature over the tangent projector."""

    def integrand(t: float) -> float:
        p = torch.tensor([[math.cos(t), math.sin(t)]], dtype=torch.float64)
        tangent = torch.tensor([-math.sin(t), math.cos(t)], dtype=torch.float64)
        return float((density.omega(p) @ tangent) * (density.weighted_omega(p) @ tangent))

    assert quad(integrand, 0, 2 * math.pi)[0] == pytest.approx(density.INTEGRAL)


@pytest.mark.parametrize("degree", [1, 2])
def test_mean_projectors(degree):
    """The closed forms of C* agree with quadrature over each manifold."""

    def mean(manifold, tangent, weight, ranges):
        volume = dblquad(lambda v, u: weight(u, v), *ranges)[0]
        size = len(manifold.diagonals[degree])
        found = np.empty((size, size))
        for i in range(size):
            for j in range(size):

                def entry(v, u, i=i, j=j):
                    T = torch.tensor(tangent(u, v), dtype=torch.float64)
                    return float(compound(T @ T.T, degree)[i, j]) * weight(u, v)

                found[i, j] = dblquad(entry, *ranges, epsabs=1e-5, epsrel=1e-5)[0] / volume
        return found

    sin, cos, turn = math.sin, math.cos, 2 * math.pi
    cases = [
        (CIRCLE, lambda u, v: [[-sin(u)], [cos(u)]], lambda u, v: 1.0, (0, turn, 0, 1)),
        (
            SPHERE,
            lambda u, v: [
                [-sin(u), -sin(v) * cos(u)],
                [cos(u), -sin(v) * sin(u)],
                [0.0, cos(v)],
            ],
            lambda u, v: cos(v),
            (0, turn, -math.pi / 2, math.pi / 2),
        ),
        (
            TORUS,
            lambda u, v: [
                [-sin(u), -sin(v) * cos(u)],
                [cos(u), -sin(v) * sin(u)],
                [0.0, cos(v)],
            ],
            lambda u, v: 2 + cos(v),
            (0, turn, 0, turn),
        ),
    ]
    for manifold, *case in cases:
        truth = manifold.mean_projector(degree).numpy()
        assert mean(manifold, *case) == pytest.approx(truth, abs=1e-4), manifold.name


def test_samples_have_the_mean_projector():
    for manifold in MANIFOLDS:
        sample = manifold.sample(20_000, 0)
        for degree in (1, 2):
            found = compound(sample.projector, degree).mean(0)
            assert (found - manifold.mean_projector(degree)).abs().max() < 0.02


def test_coupling_follows_n():
    coupling = Coupling()
    for d in (1, 2):
        assert coupling.bandwidth(500, d) == coupling.epsilon
        ratio = coupling.bandwidth(4000, d) / coupling.epsilon
        assert math.log(ratio, 8) == pytest.approx(-2 / (d + 12))
        assert coupling.density_list(4000, d) == round(16 * 8 ** (4 / (d + 4)))
    assert Coupling(growth=0.0).density_list(4000, 2) == 16


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


def test_errors_fall_as_samples_grow():
    rows = rates_of.consistency(range(2), sizes=(500, 1500))
    assert len(rows) == len(MANIFOLDS) * 2 * len(rates_of.ERRORS)
    for row in rows:
        case = (row.manifold, row.degree, row.error)
        assert row.falls or row.error == "largest local", case
        assert row.relative == (case[:2] != ("circle", 2))
        if row.error == "local":  # the bound is a bound
            assert row.slope < row.predicted, case


def test_errors_of_the_truth_are_those_of_the_sample_alone():
    """With Π in place of G the local error is 0, and the global one that of a mean of n points."""
    from dataclasses import replace

    sample = SPHERE.sample(500, 0)
    field = Coupling().field(sample)
    exact = replace(field, factor=sample.projector)  # Π Πᵀ = Π
    for degree in (1, 2):
        errors = rates_of.errors_of(exact, sample, SPHERE, degree)
        assert errors["local"] < 1e-12
        assert errors["global"] < 0.2


def test_a_run_writes_tables_and_pictures(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from pointforms.paper.theory import study

    monkeypatch.setattr(study, "_QUICK_SIZES", (250, 500))
    report = run(tmp_path / "theory", seeds=2, quick=True, progress=False)
    names = {path.name for path in report.tables + report.pictures}
    assert names == {
        f"{kind}.{end}" for kind in ("density", "consistency") for end in ("csv", "png", "pdf")
    }
    assert all(path.stat().st_size > 1000 for path in report.tables + report.pictures)
    with (tmp_path / "theory" / "consistency.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2 * len(report.consistency)
    assert {line["n"] for line in lines} == {"250", "500"}
    assert len(density_table(report.density).rows) == 16
    assert len(consistency_table(report.consistency).rows) == len(report.consistency)


def test_one_seed_has_no_interval(tmp_path):
    with pytest.raises(ValueError, match="seeds=1"):
        run(tmp_path, seeds=1)

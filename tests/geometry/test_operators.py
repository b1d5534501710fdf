from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.helpers import reference

import pointforms as pf
from pointforms.manifolds import circle, sphere, torus

LITERAL = {"center": "point", "calibrate": False, "truncation": False}


def test_equals_the_slow_reference(rng):
    X = rng.normal(size=(50, 3))
    slow = reference.gram_field(X, k=16, d=2, k0=8, alpha=0.3, truncation=False)["L"]
    L = pf.laplacian(X, neighbors=16, dimension=2, alpha=0.3, truncation=False)
    np.testing.assert_allclose(L.to_dense(), slow, rtol=1e-9, atol=1e-9 * np.abs(slow).max())


@pytest.mark.parametrize("truncation", [False, True])
@pytest.mark.parametrize("neighbors", [24, 200])
@pytest.mark.parametrize("symmetric", [False])
def test_gram_field_is_the_carre_du_champ_of_the_generator(truncation, neighbors, symmetric, rng):
    """Trap 1: G_ab = ½(L(x_a x_b) - x_a L x_b - x_b L x_a), with this sign."""
    X = torus(200, rng).points
    options = LITERAL | {"truncation": truncation, "neighbors": neighbors}
    G = pf.gram_field(X, **options).matrix()
    L = pf.laplacian(X, symmetric=symmetric, **options)
    for a in range(3):
        for b in range(3):
            f, h = X[:, a], X[:, b]
            route = 0.5 * (L @ (f * h) - f * (L @ h) - h * (L @ f))
            torch.testing.assert_close(G[:, a, b], route, rtol=0, atol=1e-10)


@pytest.mark.parametrize("options", [{}, LITERAL, {"calibrate": "point"}, {"alpha": 0.5}], ids=str)
def test_carre_du_champ_of_coordinates_is_the_gram_field(options, rng):
    X = torus(300, rng).points
    G = pf.gram_field(X, **options).matrix()
    for a, b in ((0, 0), (0, 2), (1, 2)):
        value = pf.carre_du_champ(X[:, a].numpy(), X[:, b], X, **options)
        torch.testing.assert_close(value, G[:, a, b], rtol=0, atol=1e-11)


def test_carre_du_champ_is_bilinear_symmetric_and_positive(rng):
    X = sphere(300, rng).points
    f, g, h = (torch.from_numpy(rng.normal(size=300)) for _ in range(3))
    gamma = lambda a, b: pf.carre_du_champ(a, b, X)  # noqa: E731
    torch.testing.assert_close(gamma(f, h), gamma(h, f))
    torch.testing.assert_close(gamma(2 * f + g, h), 2 * gamma(f, h) + gamma(g, h))
    assert (gamma(f, f) >= 0).all()
    assert float(gamma(torch.ones(300), f).abs().max()) < 1e-12


def test_carre_du_champ_of_a_function(rng):
    """|∇ sin t|² = cos² t on the circle."""
    X = circle(2000, rng).points
    t = torch.atan2(X[:, 1], X[:, 0])
    gamma = pf.carre_du_champ(torch.sin(t), torch.sin(t), X, neighbors=64, density_neighbors=32)
    assert float((gamma - torch.cos(t) ** 2).abs().mean()) < 0.05


@pytest.mark.parametrize("symmetric", [False, True])
def test_constants_are_harmonic_and_the_spectrum_is_nonpositive(symmetric, rng):
    X = sphere(200, rng).points
    L = pf.laplacian(X, symmetric=symmetric)
    ones = torch.ones(200, dtype=torch.float64)
    assert float((L @ ones).abs().max()) < 1e-8
    eigenvalues = torch.linalg.eigvals(L.to_dense())
    assert float(eigenvalues.real.max()) < 1e-6


def test_symmetric_generator_is_self_adjoint(rng):
    """π_i L_ij = π_j L_ji for some π > 0: real eigenvalues."""
    X = circle(150, rng, kappa=1.0).points
    L = pf.laplacian(X, neighbors=20, alpha=0.25, symmetric=True).to_dense()
    assert torch.equal(L != 0, (L != 0).T)
    assert float(torch.linalg.eigvals(L).imag.abs().max()) < 1e-7 * float(L.abs().max())
    # on a three-cycle i, j, l: L_ij L_jl L_li = L_il L_lj L_ji (Kolmogorov)
    i, j = 0, int(L[0].argsort()[-2])
    l = next(m for m in range(150) if m not in (i, j) and L[i, m] != 0 and L[j, m] != 0)
    forward, backward = L[i, j] * L[j, l] * L[l, i], L[i, l] * L[l, j] * L[j, i]
    assert float(forward / backward) == pytest.approx(1.0, rel=1e-9)


def test_coordinates_of_the_sphere_are_eigenfunctions(rng):
    """Δx = -2x; without the truncation factor L would be a third too small (trap 9)."""
    X = sphere(3000, rng).points
    options = {"neighbors": 64, "density_neighbors": 16}

    def eigenvalue(**more):
        L = pf.laplacian(X, **options, **more)
        return float(((L @ X) * X).sum() / (X * X).sum())

    assert eigenvalue() == pytest.approx(-2.0, rel=0.12)
    assert eigenvalue(truncation=False) > -1.6


@pytest.mark.parametrize("alpha", [-0.25, 0.0, 0.25])
def test_alpha_sets_the_drift(alpha, rng):
    """L → Δ + c₁ ∇log q · ∇ with c₁ = 2 - 2α + dβ + 2β: none at α = 1/2 - d/4, β = -1/2."""
    kappa = 0.8
    X = circle(4000, rng, kappa).points
    t = torch.atan2(X[:, 1], X[:, 0])
    L = pf.laplacian(X, neighbors=400, dimension=1, density_neighbors=100, alpha=alpha)
    # for f = sin t: Δf = -sin t, and ∇log q · ∇f = -κ sin t cos t
    terms = torch.stack([-torch.sin(t), -kappa * torch.sin(t) * torch.cos(t)], -1)
    coefficients = torch.linalg.lstsq(terms, (L @ torch.sin(t)).unsqueeze(-1)).solution.flatten()
    assert float(coefficients[0]) == pytest.approx(1.0, abs=0.1)
    assert float(coefficients[1]) == pytest.approx(2 - 2 * alpha - 0.5 - 1.0, abs=0.2)


def test_one_set_of_options_serves_all(rng):
    X = rng.normal(size=(40, 3))
    gamma = pf.carre_du_champ(X[:, 0], X[:, 1], X, **pf.PAPER_SETTINGS)
    G = pf.gram_field(X, **pf.PAPER_SETTINGS).matrix()
    torch.testing.assert_close(gamma, G[:, 0, 1])
    assert pf.laplacian(X, **pf.PAPER_SETTINGS).shape == (40, 40)


def test_functions_are_checked(rng):
    X = rng.normal(size=(30, 2))
    with pytest.raises(ValueError, match=r"h has shape \(29,\): expected \(30,\)"):
        pf.carre_du_champ(np.zeros(30), np.zeros(29), X)
    with pytest.raises(ValueError, match="f has non-finite values"):
        pf.carre_du_champ(np.full(30, np.nan), np.zeros(30), X)
    with pytest.raises(ValueError, match="cloud has shape"):
        pf.carre_du_champ(np.zeros(30), np.zeros(30), X[:, 0])

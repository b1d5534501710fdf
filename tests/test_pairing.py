from __future__ import annotations

from math import comb

import numpy as np
import pytest
import torch
from tests.helpers.numbers import random_rotation

import pointforms as pf
from pointforms.manifolds import circle, rotations, sphere


def angular(p):
    """ω = -y dx + x dy"""
    return torch.stack([-p[:, 1], p[:, 0]], -1)


def random_forms(count: int, D: int, degree: int, seed: int = 0):
    W = torch.randn(
        D, count * comb(D, degree), generator=torch.Generator().manual_seed(seed)
    ).double()
    return lambda p: torch.tanh(p.double() @ W).view(len(p), count, comb(D, degree)).to(p.dtype)


def test_angular_form_on_the_circle(rng):
    """⟨ω, ω⟩ = 1, ∫⟨ω, ω⟩ = 2π and ∫⟨ω, x² ω⟩ = π; the radial form vanishes."""
    field = pf.gram_field(circle(2000, rng).points, neighbors=64, spectrum="projector")
    radial = lambda p: p  # noqa: E731
    assert float((pf.inner(angular, angular, field) - 1).abs().max()) < 1e-3
    assert float(pf.inner(radial, radial, field).abs().max()) < 1e-3
    total = pf.inner_global(angular, angular, field, measure="volume")
    assert float(total) == pytest.approx(2 * np.pi, rel=0.05)
    weighted = lambda p: p[:, :1] ** 2 * angular(p)  # noqa: E731
    assert float(pf.inner_global(angular, weighted, field, measure="volume")) == pytest.approx(
        np.pi, rel=0.05
    )


def test_area_form_on_the_sphere(rng):
    """The area form x dy∧dz - y dx∧dz + z dx∧dy has norm 1 on the sphere."""
    area = lambda p: torch.stack([p[:, 2], -p[:, 1], p[:, 0]], -1)  # noqa: E731
    field = pf.gram_field(sphere(2000, rng).points, spectrum="projector")
    assert float((pf.inner(area, area, field, degree=2) - 1).abs().mean()) < 2e-3


@pytest.mark.parametrize("degree", range(5))
@pytest.mark.parametrize("neighbors", [6, 32])
def test_pairings_equal_the_dense_compound(degree, neighbors, rng):
    field = pf.gram_field(rng.normal(size=(60, 5)), neighbors=neighbors)
    forms = random_forms(3, 5, degree)
    F, G = forms(field.points), field.compound(degree)
    dense = torch.einsum("nai,nij,nbj->nab", F, G, F)
    first, second = (lambda p: forms(p)[:, 0]), (lambda p: forms(p)[:, 1])
    torch.testing.assert_close(
        pf.inner(first, second, field, degree), dense[:, 0, 1], rtol=0, atol=1e-10
    )
    for measure in ("uniform", "volume", "volume-normalized"):
        mu = field.measure(measure)
        expected = torch.einsum("n,nab->ab", mu, dense)
        C = pf.comparison_matrix(forms, field, degree, measure)
        torch.testing.assert_close(C, expected, rtol=1e-9, atol=1e-9)
        value = pf.inner_global(first, second, field, degree, measure)
        torch.testing.assert_close(value, expected[0, 1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_comparison_matrix_is_symmetric_positive_and_invariant(degree, rng):
    X = rng.normal(size=(80, 4))
    forms = random_forms(4, 4, degree)
    C = pf.comparison_matrix(forms, pf.gram_field(X), degree)
    assert torch.equal(C, C.T)
    assert float(torch.linalg.eigvalsh(C).min()) > -1e-12
    shuffled = pf.comparison_matrix(forms, pf.gram_field(X[rng.permutation(80)]), degree)
    torch.testing.assert_close(C, shuffled, rtol=1e-9, atol=1e-12)


def test_rigid_motion_of_cloud_and_forms_together(rng):
    """ω'(p) = R ω(Rᵀp) on R X pairs as ω on X."""
    X, R = rng.normal(size=(100, 3)), torch.from_numpy(random_rotation(3, rng))
    forms = random_forms(3, 3, 1)
    moved = lambda p: forms(p @ R) @ R.T  # noqa: E731
    torch.testing.assert_close(
        pf.comparison_matrix(moved, pf.gram_field(X @ R.numpy().T)),
        pf.comparison_matrix(forms, pf.gram_field(X)),
        rtol=1e-8,
        atol=1e-10,
    )


def test_blocks_change_nothing(rng, monkeypatch):
    """However few points are worked through at once, and however the forms answer."""
    import pointforms.pairing as module

    field = pf.gram_field(rng.normal(size=(101, 4)))
    forms = random_forms(3, 4, 2)
    whole = forms(field.points)
    expected = pf.comparison_matrix(forms, field, degree=2)
    monkeypatch.setattr(module, "_ONE_CALL", 1)
    monkeypatch.setattr(module, "_WORKING_SET", 300)
    for family in (forms, lambda p: forms(p).numpy(), lambda p: whole):
        torch.testing.assert_close(pf.comparison_matrix(family, field, degree=2), expected)


def test_gradients_reach_the_forms(rng):
    field = pf.gram_field(rng.normal(size=(30, 3)))
    W = torch.randn(3, 6, dtype=torch.float64, requires_grad=True)

    def loss(weights):
        return pf.comparison_matrix(lambda p: (p @ weights).view(len(p), 2, 3), field)

    assert torch.autograd.gradcheck(loss, W)


def test_degree_zero_is_multiplication(rng):
    field = pf.gram_field(rng.normal(size=(40, 3)))
    x, y = field.points[:, 0], field.points[:, 1]
    for wrap in (lambda v: v, lambda v: v.unsqueeze(-1)):
        value = pf.inner(lambda p: wrap(p[:, 0]), lambda p: wrap(p[:, 1]), field, degree=0)  # noqa: B023
        torch.testing.assert_close(value, x * y)


@pytest.mark.parametrize("degree", [3, 60])
def test_degree_above_the_features_is_an_error(degree, rng):
    field = pf.gram_field(rng.normal(size=(40, 2)))
    none = lambda p: torch.zeros(len(p), 0)  # noqa: E731
    for call in (
        lambda: pf.inner(none, none, field, degree),
        lambda: pf.inner_global(none, none, field, degree),
        lambda: pf.comparison_matrix(none, field, degree),
        lambda: field.compound(degree),
        lambda: pf.nn.PointForms(features=2, degree=degree),
        lambda: pf.nn.PointForms(features=2, degree=degree, coefficients="wedge"),
        lambda: pf.nn.PointFormNetwork(features=2, outputs=2, degrees=(1, degree)),
    ):
        with pytest.raises(ValueError, match=f"degree={degree} exceeds the 2 features"):
            call()


def test_above_the_dimension_projectors_pair_to_zero(rng):
    field = pf.gram_field(rotations(200, rng).points, dimension=3, spectrum="projector")
    C = pf.comparison_matrix(random_forms(2, 9, 4), field, degree=4)
    assert float(C.abs().max()) == 0.0


def test_single_precision_stays(rng):
    field = pf.gram_field(rng.normal(size=(40, 3)).astype(np.float32))
    assert pf.comparison_matrix(random_forms(2, 3, 1), field).dtype == torch.float32


@pytest.mark.parametrize(
    ("form", "degree", "error", "message"),
    [
        (
            lambda p: p[:, :2],
            1,
            ValueError,
            r"degree 1 returned shape \(40, 2\).*expected \(40, 3\)",
        ),
        (lambda p: p, 2.0, ValueError, "degree=2.0"),
        (lambda p: p, -1, ValueError, "degree=-1"),
        (lambda p: p[:, 0], 1, ValueError, r"shape \(40,\)"),
        (lambda p: p[:7], 1, ValueError, r"shape \(7, 3\)"),
        (lambda p: None, 1, ValueError, r"shape \(\)"),
        (lambda p: 1j * p.numpy(), 1, TypeError, "what a form returned is"),
        (torch.ones(40, 3), 1, TypeError, "a form is a Tensor: expected a callable"),
    ],
)
def test_bad_forms_are_described(form, degree, error, message, rng):
    field = pf.gram_field(rng.normal(size=(40, 3)))
    with pytest.raises(error, match=message):
        pf.comparison_matrix(form, field, degree)
    with pytest.raises(error, match=message):
        pf.inner(form, form, field, degree)


def test_pairings_need_a_field(rng):
    X = rng.normal(size=(40, 3))
    with pytest.raises(TypeError, match="field is a ndarray: expected a GramField"):
        pf.inner(lambda p: p, lambda p: p, X)


def test_training_after_inference_mode(rng):
    """Cached tables must not be inference tensors."""
    field = pf.gram_field(rng.normal(size=(20, 13)))
    W = torch.randn(13, comb(13, 3), dtype=torch.float64, requires_grad=True)
    forms = lambda p: p @ W  # noqa: E731
    with torch.inference_mode():
        pf.comparison_matrix(forms, field, degree=3)
    pf.comparison_matrix(forms, field, degree=3).sum().backward()
    assert torch.isfinite(W.grad).all()


def test_inner_takes_single_forms(rng):
    field = pf.gram_field(rng.normal(size=(40, 3)))
    family = random_forms(2, 3, 1)
    with pytest.raises(ValueError, match="4 forms together"):
        pf.inner(family, family, field)


def test_products_out_of_range_are_refused(rng):
    field = pf.gram_field(rng.normal(size=(20, 2)))
    huge = lambda p: np.full((len(p), 2), 1e200)  # noqa: E731
    undefined = lambda p: np.full((len(p), 2), np.nan)  # noqa: E731
    for pairing in (pf.inner, pf.inner_global):
        with pytest.raises(ValueError, match="products of the forms exceed the range"):
            pairing(huge, huge, field)
        with pytest.raises(ValueError, match="a form of degree 1 returned values that are not"):
            pairing(huge, undefined, field)
    with pytest.raises(ValueError, match="products of the forms exceed the range"):
        pf.comparison_matrix(lambda p: huge(p)[:, None], field)

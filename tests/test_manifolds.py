from __future__ import annotations

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.manifolds import circle, relative_error, rotations, sphere, tangent_angle, torus

ALL = [circle, sphere, torus, rotations]


@pytest.mark.parametrize("sampler", ALL, ids=lambda s: s.__name__)
def test_projectors_project_on_tangents(sampler, rng):
    sample = sampler(200, rng)
    P = sample.projector
    torch.testing.assert_close(P @ P, P)
    torch.testing.assert_close(P, P.mT)
    rank = P.diagonal(dim1=-2, dim2=-1).sum(-1)
    torch.testing.assert_close(rank, torch.full_like(rank, sample.dimension))
    # near neighbours lie in the tangent space, up to curvature
    dense = sampler(20_000, rng)
    difference = dense.points - dense.points[0]
    near = difference.norm(dim=-1).argsort()[1:6]
    outside = difference[near] - difference[near] @ dense.projector[0]
    assert float((outside.norm(dim=-1) / difference[near].norm(dim=-1)).max()) < 0.2


def test_points_lie_on_their_manifolds(rng):
    X = sphere(100, rng).points
    torch.testing.assert_close(X.norm(dim=-1), torch.ones(100, dtype=torch.float64))
    Y = torus(100, rng).points
    ring = (Y[:, :2].norm(dim=-1) - 2) ** 2 + Y[:, 2] ** 2
    torch.testing.assert_close(ring, torch.ones(100, dtype=torch.float64))
    R = rotations(10, rng).points.view(10, 3, 3)
    torch.testing.assert_close(R @ R.mT, torch.eye(3, dtype=torch.float64).expand(10, 3, 3))


def test_torus_is_uniform_in_area(rng):
    """The outer half has (π + 1) / (2π) … of the area: ∫ (2 + cos v) over |v| < π/2."""
    Y = torus(40_000, rng).points
    outer = float((Y[:, :2].norm(dim=-1) > 2).double().mean())
    assert outer == pytest.approx((2 * np.pi + 2) / (4 * np.pi), abs=0.01)


def test_embedding_and_noise(rng):
    sample = circle(50, rng)
    wide = sample.embedded(5)
    assert wide.points.shape == (50, 5)
    assert torch.equal(wide.points[:, :2], sample.points)
    noisy = wide.noisy(0.1, rng)
    assert torch.equal(noisy.projector, wide.projector)
    assert float((noisy.points - wide.points).std()) == pytest.approx(0.1, rel=0.2)


def test_errors_vanish_for_the_truth(rng):
    sample = sphere(300, rng)
    field = pf.gram_field(sample.points, spectrum="projector")
    assert 0 < relative_error(field, sample) < 0.05
    assert 0 < tangent_angle(field, sample) < 3
    # G = Π exactly on a flat piece
    flat = np.column_stack([rng.uniform(size=(200, 2)), np.zeros(200)])
    plane = pf.gram_field(flat, spectrum="projector")
    P = torch.diag(torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)).expand(200, 3, 3)
    truth = type(sample)(torch.from_numpy(flat), P, 2, 1.0)
    assert relative_error(plane, truth) < 1e-12
    assert tangent_angle(plane, truth) < 1e-5

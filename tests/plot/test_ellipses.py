"""Ellipses of Gram fields, and points that stand for many."""

from __future__ import annotations

import pytest
import torch

from pointforms.plot.ellipses import outlines, spread_out


def test_ellipses_have_the_half_axes_of_g():
    G = torch.tensor([[[4.0, 0.0], [0.0, 0.25]], [[1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64)
    at = torch.tensor([[1.0, 2.0], [0.0, 0.0]], dtype=torch.float64)
    V = (
        torch.linalg.eigh(G).eigenvectors
        * torch.linalg.eigh(G).eigenvalues.clamp_min(0).sqrt()[:, None]
    )
    rings = outlines(at, V, radius=0.5, sides=360) - at[:, None]
    # {r V u : |u| = 1}: xᵀ G⁻¹ x = r², and all of it in the image of G
    solved = torch.linalg.solve(G[0], rings[0].T)
    torch.testing.assert_close((rings[0].T * solved).sum(0), torch.full((360,), 0.25).double())
    assert float((rings[1] @ torch.tensor([1.0, -1.0]).double()).abs().max()) < 1e-9
    assert float(rings[1].norm(dim=1).max()) == pytest.approx(0.5 * 2**0.5, rel=1e-3)


def test_spread_out_points_are_far_apart(rng):
    points = torch.from_numpy(rng.normal(size=(300, 2)))
    chosen = spread_out(points, 20)
    apart = torch.cdist(points[chosen], points[chosen])
    covered = torch.cdist(points, points[chosen]).min(1).values.max()
    # farthest-point sampling: no two nearer than what is left uncovered
    assert float((apart + torch.eye(20) * 9).min()) >= float(covered)
    assert len(spread_out(points[:5], 20)) == 5

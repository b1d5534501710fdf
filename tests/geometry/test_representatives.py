from __future__ import annotations

import torch
from tests.helpers.numbers import random_rotation

from pointforms.geometry.representatives import representatives


def no_scale() -> torch.Tensor:
    raise AssertionError("points of different radius need no local scale")


def test_the_choice_does_not_depend_on_order():
    points = torch.randn(1, 100, 3, dtype=torch.float64)
    order = torch.randperm(100)
    chosen = points[0, representatives(points, 10, no_scale)[0]]
    again = points[0, order][representatives(points[:, order], 10, no_scale)[0]]
    assert torch.equal(chosen, again)
    assert representatives(points, 500, no_scale).shape == (1, 100)


def test_on_a_grid_the_choice_does_not_depend_on_order():
    axis = torch.arange(-10.0, 11.0, dtype=torch.float64) / 16
    grid = torch.cartesian_prod(axis, axis).unsqueeze(0)  # many points share a radius
    shuffled = grid[:, torch.randperm(441)]
    chosen, again = (
        x[0, representatives(x, 40, lambda x=x: torch.zeros_like(x[..., 0]))[0]]
        for x in (grid, shuffled)
    )
    assert torch.equal(chosen, again)


def test_the_local_scale_orders_points_of_one_radius(rng):
    """So that a rotation of points on a circle changes nothing."""
    t = 2 * torch.pi * torch.arange(60, dtype=torch.float64) / 60
    circle = torch.stack([t.cos(), t.sin()], -1).unsqueeze(0)
    scale = torch.from_numpy(rng.permutation(60) / 60.0).unsqueeze(0)
    rotated = circle @ torch.from_numpy(random_rotation(2, rng)).T
    chosen = representatives(circle, 7, lambda: scale)
    assert torch.equal(chosen, representatives(rotated, 7, lambda: scale))
    assert torch.equal(scale[0, chosen[0]], scale.sort().values[0, [0, 10, 20, 30, 39, 49, 59]])

from __future__ import annotations

import numpy as np
import pytest

import pointforms as pf
from pointforms.manifolds import sphere


def test_automatic_neighbors_see_noise_and_curvature(rng):
    clean = sphere(1000, rng)
    noisy = clean.noisy(0.05, rng)
    assert pf.gram_field(noisy.points, neighbors="auto").neighbors >= 128
    few = sphere(200, rng).embedded(6).noisy(0.03, rng)
    assert pf.gram_field(few.points, neighbors="auto").dimension == 2
    t = np.sort(rng.uniform(0, 2 * np.pi, 1000))
    knot = np.column_stack([np.cos(t), np.sin(2 * t), np.cos(5 * t)])
    assert pf.gram_field(knot, neighbors="auto").neighbors <= 32


@pytest.mark.parametrize("n", [2, 10, 16, 17, 40])
def test_automatic_neighbors_of_small_clouds(n, rng):
    assert pf.gram_field(rng.normal(size=(n, 3)), neighbors="auto").neighbors <= n
    assert pf.gram_field(rng.normal(size=(n, 1)), neighbors="auto").neighbors == min(n, 32)


def test_automatic_neighbors_exceed_the_dimension(rng):
    field = pf.gram_field(rng.normal(size=(500, 80)), neighbors="auto", dimension=70)
    assert field.neighbors >= 140

"""The sampling density against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import vonmises

import pointforms as pf
from pointforms.manifolds import circle, rotations, sphere, torus


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_unit_cube(d, rng):
    """Trap 9: without the mass beyond the list the volume is 1.3 at d = 3 and 11 at d = 6."""
    X = rng.uniform(size=(4000, d))
    weights = pf.gram_field(X, neighbors=32, dimension=d).measure("volume")
    inside = (np.abs(X - 0.5) < 0.35).all(1)
    assert float(weights[torch.from_numpy(inside)].sum()) == pytest.approx(0.7**d, rel=0.12)


@pytest.mark.parametrize("sampler", [circle, sphere, torus, rotations], ids=lambda s: s.__name__)
def test_volume(sampler, rng):
    sample = sampler(3000, rng)
    field = pf.gram_field(sample.points, neighbors=64)
    assert float(field.measure("volume").sum()) == pytest.approx(sample.volume, rel=0.1)


def test_von_mises(rng):
    sample = circle(4000, rng, kappa=1.0)
    angle = torch.atan2(sample.points[:, 1], sample.points[:, 0]).numpy()
    field = pf.gram_field(sample.points, neighbors=512)
    ratio = field.density.numpy() / vonmises.pdf(angle, 1.0)
    assert np.median(np.abs(ratio - 1)) < 0.12


def test_complete_graph_needs_no_correction(rng):
    sample = sphere(800, rng)
    full = pf.gram_field(sample.points, neighbors=800, density_neighbors=16)
    cut = pf.gram_field(sample.points, neighbors=64, density_neighbors=16)
    ratio = (cut.density / full.density).numpy()
    assert abs(np.median(ratio) - 1) < 0.03

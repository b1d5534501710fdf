"""The intrinsic dimension of samples whose dimension is known."""

from __future__ import annotations

import numpy as np
import pytest

import pointforms as pf
from pointforms.geometry import estimate_dimension
from pointforms.manifolds import circle, rotations, sphere, torus


def flat(n: int, d: int, D: int, rng: np.random.Generator) -> np.ndarray:
    frame, _ = np.linalg.qr(rng.normal(size=(D, d)))
    return rng.uniform(size=(n, d)) @ frame.T


@pytest.mark.parametrize("neighbors", [32, 64, 128])
@pytest.mark.parametrize("sampler", [circle, sphere, torus, rotations], ids=lambda s: s.__name__)
def test_manifolds_by_local_pca(sampler, neighbors, rng):
    sample = sampler(2000, rng)
    assert estimate_dimension(sample.points, neighbors=neighbors) == sample.dimension


@pytest.mark.parametrize(("d", "D"), [(1, 50), (3, 10), (6, 20), (10, 20), (12, 12)])
def test_flat_pieces_by_local_pca(d, D, rng):
    assert estimate_dimension(flat(2000, d, D, rng)) == d


def test_noise_is_not_a_dimension(rng):
    noisy = sphere(2000, rng).embedded(20).noisy(0.02, rng)
    assert estimate_dimension(noisy.points, neighbors=32) == 2
    assert estimate_dimension(noisy.points, neighbors=256) == 2
    rough = sphere(2000, rng).noisy(0.05, rng)
    assert estimate_dimension(rough.points, neighbors=256) == 2
    assert pf.gram_field(rough.points, neighbors="auto").dimension == 2


def test_complete_graphs_still_look_locally(rng):
    assert pf.gram_field(sphere(600, rng).points, neighbors=600).dimension == 2


@pytest.mark.parametrize("sampler", [circle, sphere, torus, rotations], ids=lambda s: s.__name__)
def test_twice_the_slope(sampler, rng):
    """Trap 10: a short list would give 1.8 for the sphere and 2.3 for SO(3)."""
    sample = sampler(2000, rng)
    slope = estimate_dimension(sample.points, method="slope")
    assert slope == pytest.approx(sample.dimension, rel=0.13)


def test_slope_does_not_depend_on_the_unit(rng):
    X = circle(600, rng).points
    slopes = [estimate_dimension(s * X, method="slope") for s in (1.0, 1e-8, 1e8)]
    assert slopes == pytest.approx([slopes[0]] * 3, rel=1e-6)


@pytest.mark.parametrize("neighbors", [1, 0, -1, "auto"])
def test_bad_neighbors(neighbors, rng):
    with pytest.raises(ValueError, match="neighbors="):
        estimate_dimension(rng.normal(size=(20, 2)), neighbors=neighbors)


def test_unknown_method(rng):
    with pytest.raises(ValueError, match="method='box'"):
        estimate_dimension(rng.normal(size=(20, 2)), method="box")

"""Angles between spectra and projectors, by their closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.samples import cube, gaussian, hypersphere

from pointforms.geometry import estimate_dimension
from pointforms.geometry.projector_angles import Angles, nearest_rank, projector_angles

FAR = 1 << 20  # neighbours with which a sample spreads no eigenvalues


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_spectrum_of_a_projector_has_its_rank(d):
    values = 3.0 * (np.arange(5) < d)
    angles = projector_angles(np.broadcast_to(values, (1, 7, 5)), (FAR,), 5)
    assert angles.sine[0].argmin() + 1 == d
    assert angles.sine[0, d - 1] < 1e-7
    assert nearest_rank(angles) == (d, 1.0)


def test_the_sine_is_that_of_the_angle_between_matrices(rng):
    """The nearest projector of rank d is that on the top-d eigenspace."""
    A = rng.normal(size=(6, 4))
    G = A.T @ A
    values, vectors = np.linalg.eigh(G)
    angles = projector_angles(values[::-1].reshape(1, 1, 4), (FAR,), 4)
    for d in range(1, 5):
        top = vectors[:, -d:] @ vectors[:, -d:].T
        cosine = np.sum(G * top) / (np.linalg.norm(G) * np.linalg.norm(top))
        assert angles.sine[0, d - 1] == pytest.approx(np.sqrt(1 - cosine**2), abs=1e-7)
        for _ in range(20):
            Q, _ = np.linalg.qr(rng.normal(size=(4, d)))
            other = np.sum(G * (Q @ Q.T)) / (np.linalg.norm(G) * np.sqrt(d))
            assert other <= cosine + 1e-12


def test_ranks_above_a_quarter_of_the_neighbors_cannot_be_told():
    angles = projector_angles(np.ones((2, 3, 10)), (16, 64), 10)
    assert angles.sine.shape == (2, 10)
    for table in (angles.sine, angles.spread_sine, angles.share):
        assert np.isnan(table[0, 4:]).all()
        assert np.isfinite(table[0, :4]).all()
    assert nearest_rank(angles) == (10, 1.0)
    # a rank is doubtful if none above it can be told, but for the largest there is
    assert nearest_rank(projector_angles(np.ones((1, 3, 10)), (16,), 10)) == (4, 0.0)
    assert nearest_rank(projector_angles(np.ones((1, 3, 4)), (16,), 4)) == (4, 1.0)
    # few neighbours still tell one dimension
    assert nearest_rank(projector_angles(np.ones((1, 3, 2)), (2,), 2)) == (1, 0.0)


def test_clouds_abstain_from_ranks_that_they_cannot_tell():
    large = projector_angles(np.ones((2, 3, 10)), (16, 64), 10)
    small = projector_angles(np.ones((2, 3, 8)), (4, 4), 10)
    assert small.sine.shape == (2, 1)
    assert nearest_rank(small, small, large) == (10, 1.0)


def test_neighborhoods_of_copies_have_no_vote():
    values = np.zeros((1, 4, 3))
    values[0, :2] = [1.0, 1.0, 0.0]
    assert nearest_rank(projector_angles(values, (FAR,), 3)) == (2, 1.0)


def test_clouds_vote_by_their_mean():
    one = projector_angles(np.array([[[1.0, 0.0, 0.0]]]), (64,), 3)
    both = projector_angles(np.array([[[1.0, 1.0, 0.1]]]), (64,), 3)
    assert nearest_rank(one, one, both) == (1, pytest.approx(2 / 3))
    assert nearest_rank(one, both, both) == (2, pytest.approx(2 / 3))


def test_the_scale_is_chosen_before_the_rank():
    """At the first scale the cloud looks like noise of rank 3, at the second like a surface."""
    angles = Angles(
        (16, 64),
        np.array([[0.9, 0.5, 0.2], [0.8, 0.1, 0.4]]),
        np.array([[0.9, 0.5, 0.01], [0.8, 0.2, 0.3]]),
        np.array([[0.0, 0.1, 0.9], [0.0, 0.8, 0.2]]),
        3,
    )
    assert nearest_rank(angles) == (2, 0.8)


def test_wider_neighborhoods_of_a_higher_rank_are_not_asked():
    """A flat torus in R^4 is a surface near by, and as a whole equally wide in four directions."""
    sine = np.array([[0.9, 0.3, 0.5, 0.6], [0.9, 0.4, 0.4, 0.1]])
    share = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    assert nearest_rank(Angles((16, 64), sine, sine, share, 4)) == (2, 1.0)
    # but few neighbours may tell too few dimensions
    assert nearest_rank(Angles((8, 64), sine, sine, share, 4)) == (4, 1.0)


def test_a_narrow_strip_is_a_surface_and_a_noisy_curve_is_none():
    share = np.array([[0.1, 0.9, 0.0], [1.0, 0.0, 0.0]])
    strip = np.array([[0.6, 0.19, 0.5], [0.1, 0.5, 0.7]])
    assert nearest_rank(Angles((16, 64), strip, strip, share, 3)) == (2, 0.9)
    # noise in the plane has as many dimensions as there are
    assert nearest_rank(Angles((16, 64), strip, strip, share, 2)) == (1, 1.0)
    noise = np.array([[0.6, 0.3, 0.5], [0.1, 0.5, 0.7]])
    assert nearest_rank(Angles((16, 64), noise, noise, share, 3)) == (1, 1.0)


@pytest.mark.parametrize(
    ("make", "d", "n"),
    [
        (cube, 7, 1000),
        (cube, 12, 2000),
        (gaussian, 8, 400),
        (gaussian, 12, 2000),
        (hypersphere, 5, 1000),
        (hypersphere, 9, 2000),
    ],
)
def test_many_dimensions_although_few_points_spread_the_eigenvalues(make, d, n, rng):
    sample = make(d, n, rng).embedded(20)
    assert estimate_dimension(sample.points) == d

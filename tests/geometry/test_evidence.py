"""The evidence for a neighbour count, compared with the Gram fields that it predicts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from benchmarks.samples import closed_curve, cube

import pointforms as pf
from pointforms.geometry.evidence import Evidence
from pointforms.manifolds import Sample, circle, sphere


@pytest.fixture
def all_points(monkeypatch):
    """Average over all points, where usually some stand for all."""
    for name in ("_MIN_ROWS", "_MAX_ROWS"):
        monkeypatch.setattr(f"pointforms.geometry.evidence.{name}", 1 << 20)


def distance(sample: Sample, k: int) -> float:
    """‖G - Π‖ / √d of the Gram field itself."""
    d = sample.dimension
    G = pf.gram_field(sample.points, neighbors=k, dimension=d).matrix()
    values = torch.linalg.eigvalsh(G)
    values[:, -d:] -= 1
    return float(values.norm(dim=-1).mean()) / d**0.5


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "make",
    [
        lambda rng: sphere(300, rng),
        lambda rng: sphere(150, rng).embedded(30).noisy(0.05, rng),
        lambda rng: circle(60, rng, kappa=1.0),
        lambda rng: cube(3, 200, rng),
    ],
)
def test_up_to_32_neighbors_it_is_exact(make, seed, all_points):
    sample = make(np.random.default_rng(seed))
    found = Evidence(sample.points).distances(sample.dimension)
    assert {16, 32} <= found.keys()
    for k in (16, 32):
        assert found[k] == pytest.approx(distance(sample, k), rel=1e-9)


def test_beyond_it_is_close(all_points, rng):
    for sample, share in (
        (sphere(1000, rng), 0.12),
        (sphere(1000, rng).noisy(0.05, rng), 0.08),
        (closed_curve(1000, rng).noisy(0.05, rng), 0.08),
    ):
        found = Evidence(sample.points).distances(sample.dimension)
        for k in (64, 128, 256):
            assert found[k] == pytest.approx(distance(sample, k), rel=share)


def test_where_wider_is_better_up_to_all_points_it_is_exact(all_points, rng):
    sample = cube(4, 200, rng)
    found = Evidence(sample.points).distances(4)
    assert list(found) == [16, 32, 64, 128, 200]
    for k in (128, 200):
        assert found[k] == pytest.approx(distance(sample, k), rel=1e-9)


def test_some_points_stand_for_all(rng, monkeypatch):
    sample = sphere(2000, rng).noisy(0.03, rng)
    some = Evidence(sample.points).distances(2)
    monkeypatch.setattr("pointforms.geometry.evidence._MIN_ROWS", 2000)
    monkeypatch.setattr("pointforms.geometry.evidence._MAX_ROWS", 2000)
    every = Evidence(sample.points).distances(2)
    for k, expected in every.items():
        assert some[k] == pytest.approx(expected, rel=0.08)


def test_copies_count_once(rng):
    X = torch.from_numpy(rng.normal(size=(100, 3)))
    again = torch.cat([X, X[:40], X[:1].expand(200, -1)])
    plain, copied = Evidence(X), Evidence(again)
    np.testing.assert_allclose(copied.angles().sine, plain.angles().sine)
    found = copied.distances(3)
    assert list(found.values()) == pytest.approx(list(plain.distances(3).values()))
    # k distinct points are 3.4 k points
    assert list(found) == [round(3.4 * k) for k in plain.distances(3)]


@pytest.mark.parametrize("copies", [2, 10, 40])
def test_neighborhoods_reach_beyond_the_copies_of_a_point(copies, rng):
    X = np.tile(circle(60, rng).points.numpy(), (copies, 1))
    field = pf.gram_field(X)
    assert field.dimension == 1
    assert float(field.matrix().diagonal(dim1=1, dim2=2).sum(-1).min()) > 0.2


def test_few_points_with_many_copies(rng):
    """The corners of a cube, 125 times each."""
    corners = rng.permutation(np.tile(np.indices((2, 2, 2)).reshape(3, 8).T, (125, 1)))
    field = pf.gram_field(corners, dimension=3)
    assert field.neighbors == 1000
    assert float(field.matrix().diagonal(dim1=1, dim2=2).min()) > 0.5


def test_motions_and_scales_change_nothing(rng, dtype):
    X = torch.from_numpy(rng.normal(size=(150, 3))).to(dtype)
    Q = torch.from_numpy(np.linalg.qr(rng.normal(size=(3, 3)))[0]).to(dtype)
    order = torch.from_numpy(rng.permutation(150))
    rtol = 1e-9 if dtype == torch.float64 else 1e-3
    expected, angles = Evidence(X).distances(3), Evidence(X).angles()
    for moved in (X @ Q + 5, 1e-6 * X, 1e6 * X, X[order]):
        found = Evidence(moved)
        np.testing.assert_allclose(found.angles().sine, angles.sine, rtol=rtol)
        np.testing.assert_allclose(found.angles().share, angles.share)
        np.testing.assert_allclose(list(found.distances(3).values()), [*expected.values()], rtol)


def test_small_clouds_compare_nothing(rng):
    for n in (2, 5, 20, 32):
        evidence = Evidence(torch.from_numpy(rng.normal(size=(n, 50))))
        assert evidence.counts == []
        assert evidence.distances(1) == {}
        assert evidence.angles().sine.shape[1] <= max(1, n // 4)
    assert Evidence(torch.from_numpy(rng.normal(size=(33, 50)))).counts == [8, 16, 32]


def test_only_counts_of_four_neighbors_per_dimension(rng):
    evidence = Evidence(torch.from_numpy(rng.normal(size=(1000, 30))))
    assert list(evidence.distances(20)) == [128, 256]
    assert list(evidence.distances(9)) == [64, 128, 256]
    assert list(evidence.distances(50)) == [256]
    assert evidence.distances(100) == {}

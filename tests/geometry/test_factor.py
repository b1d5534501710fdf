"""Identities of the Gram field, and its equality with the slow reference."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
import torch
from tests.helpers import reference
from tests.helpers.numbers import random_rotation, tolerance

import pointforms as pf
from pointforms.manifolds import circle, rotations, sphere, torus

VARIANTS = [
    {},
    {"neighbors": 64},  # complete: there are 60 points
    {"bandwidth": 0.3},
    {"bandwidth_policy": "fixed"},
    {"bandwidth_policy": "fixed", "bandwidth_units": "absolute", "bandwidth": 0.05},
    {"bandwidth_units": "absolute"},
    {"bandwidth_units": 0.4},
    {"alpha": 0.5},
    {"alpha": -0.75, "beta": -0.2},
    {"density_neighbors": 12},
    {"density_neighbors": 40},  # more than neighbours
    {"center": "point"},
    {"calibrate": False},
    {"calibrate": "point"},
    {"truncation": False},
    {"truncation": False, "neighbors": 60},
    pf.PAPER_SETTINGS,
]


def saddle(n: int, rng: np.random.Generator) -> np.ndarray:
    xy = rng.uniform(-1, 1, size=(n, 2))
    return np.column_stack([xy, xy[:, 0] ** 2 - xy[:, 1] ** 2, 0.5 * xy[:, 0]])


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_equals_the_slow_reference(variant, rng):
    X = saddle(60, rng)
    options = {"neighbors": 20, "dimension": 2} | variant
    field = pf.gram_field(X, **options)
    k = min(60, options["neighbors"])
    slow = reference.gram_field(
        X,
        k=k,
        d=2,
        k0=options.get("density_neighbors") or max(8, k // 4),
        epsilon=options.get("bandwidth", 1.0),
        policy=options.get("bandwidth_policy", "variable"),
        units=options.get("bandwidth_units", "local"),
        alpha=options.get("alpha", 0.0),
        beta=options.get("beta", -0.5),
        center=options.get("center", "mean"),
        calibrate=options.get("calibrate", True),
        truncation=options.get("truncation", True),
    )
    np.testing.assert_allclose(field.matrix().numpy(), slow["G"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(field.density.numpy(), slow["density"], rtol=1e-9)
    np.testing.assert_allclose(field.scale.numpy(), slow["rho"], rtol=1e-9)


@pytest.mark.parametrize("spectrum", ["raw", "projector"])
@pytest.mark.parametrize("neighbors", [10, 40])
def test_symmetric_and_positive_semidefinite(spectrum, neighbors, dtype, rng):
    X = torch.from_numpy(rng.normal(size=(200, 6))).to(dtype)
    G = pf.gram_field(X, neighbors=neighbors, spectrum=spectrum).matrix()
    assert G.dtype == dtype
    assert torch.equal(G, G.mT)
    assert torch.linalg.eigvalsh(G).min() > -tolerance(dtype)


@pytest.mark.parametrize(
    "options",
    [{}, {"spectrum": "projector"}, {"bandwidth_policy": "fixed"}, {"neighbors": "auto"},
     {"bandwidth": "auto"}, {"rank": 2}, {"center": "point"}, {"alpha": 0.5}],
    ids=str,
)  # fmt: skip
def test_rigid_motion(options, rng):
    """G(RX + t) = R G(X) Rᵀ"""
    X = torus(400, rng).points.numpy()
    R, t = random_rotation(3, rng), rng.normal(size=3)
    before, after = pf.gram_field(X, **options), pf.gram_field(X @ R.T + t, **options)
    assert before.neighbors == after.neighbors
    np.testing.assert_allclose(after.matrix(), R @ before.matrix().numpy() @ R.T, atol=1e-8)
    np.testing.assert_allclose(after.density, before.density, rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-8, 0.37, 1e8])
@pytest.mark.parametrize(
    "options",
    [{}, {"spectrum": "projector"}, {"bandwidth": "auto"}, {"bandwidth_policy": "fixed"}],
    ids=str,
)
def test_scale(scale, options, rng):
    """G(sX) = G(X), while the density goes as s^-d and ρ as s."""
    X = torus(400, rng).points.numpy()
    options = options | {"dimension": 2}
    before, after = pf.gram_field(X, **options), pf.gram_field(scale * X, **options)
    np.testing.assert_allclose(after.matrix(), before.matrix(), atol=1e-8)
    np.testing.assert_allclose(after.scale, scale * before.scale, rtol=1e-8)
    np.testing.assert_allclose(
        after.log_density, before.log_density - 2 * np.log(scale), rtol=0, atol=1e-7
    )


def test_absolute_units_see_the_scale(rng):
    X = circle(400, rng).points.numpy()  # at d = 2, ρ = q^(-1/2) is a length
    options = pf.PAPER_SETTINGS
    assert not np.allclose(
        pf.gram_field(3 * X, **options).matrix(), pf.gram_field(X, **options).matrix(), rtol=0.5
    )


@pytest.mark.parametrize("neighbors", [32, "auto", 300])
def test_permutation(neighbors, rng):
    X = sphere(300, rng).points.numpy()
    order = rng.permutation(300)
    before, after = (pf.gram_field(x, neighbors=neighbors) for x in (X, X[order]))
    np.testing.assert_allclose(after.matrix(), before.matrix()[order], atol=1e-10)
    np.testing.assert_allclose(after.density, before.density[order], rtol=1e-10)


def test_calibration_sets_the_trace(rng):
    X = sphere(500, rng).points

    def traces(calibrate):
        G = pf.gram_field(X, calibrate=calibrate).matrix()
        return G.diagonal(dim1=-2, dim2=-1).sum(-1)

    assert float(traces(True).mean()) == pytest.approx(2.0)
    assert float(traces(True).std()) > 0.01
    assert float((traces("point") - 2.0).abs().max()) < 1e-12
    assert float((traces(False).mean() - 2.0).abs()) > 1e-3


def test_truncation_makes_the_trace_independent_of_the_list(rng):
    X = sphere(2000, rng).points

    def trace(neighbors, truncation):
        field = pf.gram_field(
            X, neighbors=neighbors, density_neighbors=16, calibrate=False, truncation=truncation
        )
        return float(field.matrix().diagonal(dim1=-2, dim2=-1).sum(-1).mean())

    corrected = [trace(k, True) for k in (24, 48, 96)]
    plain = [trace(k, False) for k in (24, 48, 96)]
    assert max(abs(t - 2) for t in corrected) < 0.15
    assert plain[0] < 1.6
    assert trace(2000, True) == trace(2000, False)  # nothing is cut from a complete graph


@pytest.mark.parametrize("k", range(5))
def test_compound_of_a_projector_is_one(k, rng):
    sample = rotations(400, rng)
    field = pf.gram_field(sample.points, dimension=3, spectrum="projector")
    G = field.compound(k)[:20]
    assert G.shape[-1] == comb(9, k)
    torch.testing.assert_close(G @ G, G, rtol=0, atol=1e-9)
    rank = G.diagonal(dim1=-2, dim2=-1).sum(-1)
    torch.testing.assert_close(rank, torch.full_like(rank, comb(3, k)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("neighbors", [8, 32])
def test_rank_keeps_the_leading_directions(neighbors, rng):
    X = rng.normal(size=(150, 12)) * np.linspace(2, 0.1, 12)
    full, cut = pf.gram_field(X, neighbors), pf.gram_field(X, neighbors, rank=3)
    assert cut.factor.shape == (150, 12, 3)
    values, vectors = torch.linalg.eigh(full.matrix())
    top = vectors[..., -3:] * values[:, None, -3:] @ vectors[..., -3:].mT
    torch.testing.assert_close(cut.matrix(), top, rtol=0, atol=1e-9)
    torch.testing.assert_close(cut.discarded_trace, values[:, :-3].sum(-1), rtol=0, atol=1e-9)
    assert float(full.discarded_trace.abs().max()) == 0.0


def test_projector_with_a_rank_reports_what_it_cut(rng):
    field = pf.gram_field(sphere(300, rng).points, spectrum="projector", rank=1)
    assert field.factor.shape[-1] == 1
    assert torch.equal(field.discarded_trace, torch.ones_like(field.discarded_trace))


def test_factor_is_no_wider_than_it_need_be(rng):
    X = rng.normal(size=(100, 20))
    assert pf.gram_field(X, neighbors=12).factor.shape == (100, 20, 12)
    assert pf.gram_field(X, neighbors=40).factor.shape == (100, 20, 20)
    assert pf.gram_field(X, dimension=4, spectrum="projector").factor.shape == (100, 20, 4)


def test_single_precision_follows_double(rng):
    for X in (sphere(500, rng).points, torch.from_numpy(rng.normal(size=(80, 30)))):
        double, single = pf.gram_field(X, dimension=2), pf.gram_field(X.float(), dimension=2)
        assert single.factor.dtype == torch.float32
        assert single.density.dtype == torch.float32
        torch.testing.assert_close(single.matrix().double(), double.matrix(), rtol=0, atol=2e-4)
        torch.testing.assert_close(single.density.double(), double.density, rtol=1e-3, atol=0)


def test_single_precision_far_from_the_origin_and_at_odd_scales(rng):
    X = sphere(500, rng).points
    for scale in (1e-8, 1e8):
        field = pf.gram_field((scale * X).float())
        torch.testing.assert_close(
            field.matrix().double(), pf.gram_field(X).matrix(), rtol=0, atol=2e-3
        )
    shifted = pf.gram_field(X + 1e6)
    torch.testing.assert_close(shifted.matrix(), pf.gram_field(X).matrix(), rtol=0, atol=1e-6)


class TestHardClouds:
    def check(self, X, **options) -> pf.geometry.GramField:
        field = pf.gram_field(X, **options)
        for tensor in (field.factor, field.log_density, field.scale, field.measure("volume")):
            assert torch.isfinite(tensor).all()
        assert (field.scale > 0).all()
        return field

    @pytest.mark.parametrize("spectrum", ["raw", "projector"])
    def test_two_points(self, spectrum):
        field = self.check(np.array([[0.0, 0.0], [3.0, 4.0]]), spectrum=spectrum)
        assert field.dimension == 1
        direction = np.array([0.6, 0.8])
        np.testing.assert_allclose(field.matrix()[0], np.outer(direction, direction), atol=1e-12)

    def test_fewer_points_than_neighbors(self, rng):
        X = rng.normal(size=(20, 3))
        field = self.check(X)
        assert field.neighbors == 20
        np.testing.assert_allclose(field.matrix(), pf.gram_field(X, neighbors=20).matrix())

    def test_one_feature(self, rng):
        field = self.check(rng.normal(size=(100, 1)))
        assert field.dimension == 1
        assert field.matrix().shape == (100, 1, 1)

    @pytest.mark.parametrize("n", [20, 33, 200])
    def test_line_in_many_dimensions(self, n, rng):
        direction = rng.normal(size=50)
        direction /= np.linalg.norm(direction)
        X = rng.uniform(size=(n, 1)) * direction + rng.normal(size=50)
        field = self.check(X, spectrum="projector")
        assert field.dimension == 1
        expected = np.broadcast_to(np.outer(direction, direction), (n, 50, 50))
        np.testing.assert_allclose(field.matrix(), expected, atol=1e-8)

    def test_integers(self, rng):
        X = rng.integers(0, 5, size=(200, 3))  # many points repeat
        field = self.check(X)
        assert field.factor.dtype == torch.float64

    @pytest.mark.parametrize("copies", [2, 8, 40])
    def test_every_point_repeats(self, copies, rng):
        self.check(np.repeat(rng.normal(size=(10, 3)), copies, axis=0))
        self.check(np.repeat(rng.normal(size=(10, 3)), copies, axis=0), calibrate="point")
        self.check(np.repeat(rng.normal(size=(10, 3)), copies, axis=0), spectrum="projector")

    def test_a_few_copies_do_not_move_the_rest(self, rng):
        sample = circle(500, rng)
        X = np.concatenate([sample.points.numpy(), np.repeat(sample.points.numpy()[:2], 20, 0)])
        clean, mixed = pf.gram_field(sample.points), self.check(X)
        assert mixed.dimension == 1
        difference = (mixed.matrix()[2:500] - clean.matrix()[2:]).abs().amax((1, 2))
        assert float(difference.median()) < 0.05

    def test_copies_have_no_say_in_the_dimension(self, rng):
        X = np.concatenate([rng.normal(size=(60, 6)), np.zeros((160, 6))])
        assert self.check(X).dimension == pf.gram_field(X[:60]).dimension

    @pytest.mark.parametrize("d", [90, 200, 400])
    def test_very_many_dimensions(self, d, rng):
        field = pf.gram_field(rng.normal(size=(600, d)), dimension=d)
        assert torch.isfinite(field.factor).all()
        assert torch.isfinite(field.log_density).all()

    @pytest.mark.parametrize("single", [False, True])
    @pytest.mark.parametrize("D", [15, 25])
    def test_laplacian_exponent_in_many_dimensions(self, D, single, rng):
        X = torch.from_numpy(rng.normal(size=(500, D)))
        X = X.float() if single else X
        options = {"dimension": D, "alpha": 0.5 - D / 4}
        assert torch.isfinite(pf.gram_field(X, **options).factor).all()
        for symmetric in (False, True):
            L = pf.laplacian(X, symmetric=symmetric, **options)
            assert torch.isfinite(L.values()).all()

    def test_two_scales_in_one_small_cloud(self, rng):
        """A tight group keeps its own density on a complete graph."""
        X = np.concatenate([1e-3 * rng.normal(size=(12, 2)), 3 + rng.normal(size=(18, 2))])
        density = self.check(X, dimension=2).density
        assert float(density[:12].median() / density[12:].median()) > 1e4

    @pytest.mark.parametrize(("single", "ratio"), [(False, 1e8), (True, 1e4)])
    def test_features_of_very_different_scales(self, single, ratio, rng):
        X = rng.normal(size=(300, 2)) * [ratio, 1.0]
        X = X.astype(np.float32) if single else X
        exact = reference.gram_field(X.astype(np.float64), k=32, d=1, k0=8)["G"]
        G = pf.gram_field(X, neighbors=32, dimension=1).matrix().double().numpy()
        np.testing.assert_allclose(G[:, 1, 1], exact[:, 1, 1], rtol=1e-2 if single else 1e-6)

    def test_large_numbers_in_single_precision(self, rng):
        X = sphere(200, rng).points
        large = pf.gram_field((1e37 * X).float())
        torch.testing.assert_close(
            large.matrix().double(), pf.gram_field(X).matrix(), rtol=0, atol=2e-3
        )

    def test_outlier(self, rng):
        X = np.concatenate([circle(300, rng).points.numpy(), [[1e6, 0.0]]])
        field = self.check(X)
        assert field.dimension == 1

    def test_high_dimension_does_not_overflow(self, rng):
        self.check(1e-6 * rng.normal(size=(100, 60)), dimension=50)
        single = torch.from_numpy(1e-6 * rng.normal(size=(100, 60))).float()
        field = pf.gram_field(single, dimension=50)
        assert torch.isfinite(field.log_density).all()
        assert torch.isfinite(field.factor).all()
        assert float(field.measure("volume-normalized").sum()) == pytest.approx(1.0, abs=1e-5)

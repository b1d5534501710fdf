"""Density, dimension and truncation against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import gammainc
from scipy.stats import vonmises

import pointforms as pf
from pointforms.geometry import estimate_dimension
from pointforms.geometry.truncation import kept_second_moment, log_kept_mass
from pointforms.manifolds import circle, rotations, sphere, torus


def flat(n: int, d: int, D: int, rng: np.random.Generator) -> np.ndarray:
    frame, _ = np.linalg.qr(rng.normal(size=(D, d)))
    return rng.uniform(size=(n, d)) @ frame.T


class TestTruncation:
    x = torch.tensor([1e-3, 0.1, 1.0, 3.0, 30.0], dtype=torch.float64)

    @pytest.mark.parametrize("d", [1, 2, 3, 8, 50])
    def test_closed_form(self, d):
        dimension = torch.tensor(float(d), dtype=torch.float64)
        x = self.x.numpy()
        P, P1 = gammainc(d / 2, x), gammainc(d / 2 + 1, x)
        np.testing.assert_allclose(log_kept_mass(dimension, self.x).numpy(), np.log(P), rtol=1e-7)
        np.testing.assert_allclose(kept_second_moment(dimension, self.x).numpy(), P1 / P, rtol=1e-7)

    def test_closed_form_in_two_dimensions(self):
        d = torch.tensor(2.0, dtype=torch.float64)
        torch.testing.assert_close(log_kept_mass(d, self.x), torch.log(-torch.expm1(-self.x)))

    def test_moments_of_a_cut_gaussian(self):
        """Second moment of exp(-|z|²) within R over its mass there, relative to the whole: d/2."""
        rng = np.random.default_rng(0)
        sq = (rng.normal(scale=0.5**0.5, size=(400_000, 3)) ** 2).sum(-1)
        for R2 in (0.5, 1.5, 4.0):
            d, x = torch.tensor(3.0), torch.tensor(R2)
            assert float(log_kept_mass(d, x).exp()) == pytest.approx(np.mean(sq < R2), rel=0.02)
            inside = sq[sq < R2].mean() / 1.5
            assert float(kept_second_moment(d, x)) == pytest.approx(inside, rel=0.02)

    def test_vanishing_radii(self):
        d = torch.tensor(40.0, dtype=torch.float64)
        tiny = torch.tensor([0.0, 1e-300, 1e-30, 0.999e-6, 1.001e-6], dtype=torch.float64)
        mass, moment = log_kept_mass(d, tiny), kept_second_moment(d, tiny)
        assert mass[0] == 0.0
        assert moment[0] == 1.0
        assert torch.isfinite(mass).all()
        torch.testing.assert_close(moment[1:], tiny[1:] / 21)
        assert (mass[1:].diff() > 0).all()


class TestDensity:
    @pytest.mark.parametrize("d", [1, 2, 3, 6])
    def test_unit_cube(self, d, rng):
        """Trap 9: without the mass beyond the list the volume is 1.3 at d = 3 and 11 at d = 6."""
        X = rng.uniform(size=(4000, d))
        weights = pf.gram_field(X, dimension=d).measure("volume")
        inside = (np.abs(X - 0.5) < 0.35).all(1)
        assert float(weights[torch.from_numpy(inside)].sum()) == pytest.approx(0.7**d, rel=0.12)

    @pytest.mark.parametrize(
        "sampler", [circle, sphere, torus, rotations], ids=lambda s: s.__name__
    )
    def test_volume(self, sampler, rng):
        sample = sampler(3000, rng)
        field = pf.gram_field(sample.points, neighbors=64)
        assert float(field.measure("volume").sum()) == pytest.approx(sample.volume, rel=0.1)

    def test_von_mises(self, rng):
        sample = circle(4000, rng, kappa=1.0)
        angle = torch.atan2(sample.points[:, 1], sample.points[:, 0]).numpy()
        field = pf.gram_field(sample.points, neighbors=512)
        ratio = field.density.numpy() / vonmises.pdf(angle, 1.0)
        assert np.median(np.abs(ratio - 1)) < 0.12

    def test_complete_graph_needs_no_correction(self, rng):
        sample = sphere(800, rng)
        full = pf.gram_field(sample.points, neighbors=800, density_neighbors=16)
        cut = pf.gram_field(sample.points, neighbors=64, density_neighbors=16)
        ratio = (cut.density / full.density).numpy()
        assert abs(np.median(ratio) - 1) < 0.03


class TestDimension:
    @pytest.mark.parametrize("neighbors", [32, 64, 128])
    @pytest.mark.parametrize(
        "sampler", [circle, sphere, torus, rotations], ids=lambda s: s.__name__
    )
    def test_manifolds_by_local_pca(self, sampler, neighbors, rng):
        sample = sampler(2000, rng)
        assert estimate_dimension(sample.points, neighbors=neighbors) == sample.dimension

    @pytest.mark.parametrize(("d", "D"), [(1, 50), (3, 10), (6, 20), (10, 20), (12, 12)])
    def test_flat_pieces_by_local_pca(self, d, D, rng):
        assert estimate_dimension(flat(2000, d, D, rng)) == d

    def test_noise_is_not_a_dimension(self, rng):
        noisy = sphere(2000, rng).embedded(20).noisy(0.02, rng)
        assert estimate_dimension(noisy.points, neighbors=32) == 2
        assert estimate_dimension(noisy.points, neighbors=256) == 2
        rough = sphere(2000, rng).noisy(0.05, rng)
        assert estimate_dimension(rough.points, neighbors=256) == 2
        assert pf.gram_field(rough.points, neighbors="auto").dimension == 2

    def test_complete_graphs_still_look_locally(self, rng):
        assert pf.gram_field(sphere(600, rng).points, neighbors=600).dimension == 2

    @pytest.mark.parametrize(
        "sampler", [circle, sphere, torus, rotations], ids=lambda s: s.__name__
    )
    def test_twice_the_slope(self, sampler, rng):
        """Trap 10: a short list would give 1.8 for the sphere and 2.3 for SO(3)."""
        sample = sampler(2000, rng)
        slope = estimate_dimension(sample.points, method="slope")
        assert slope == pytest.approx(sample.dimension, rel=0.13)

    def test_slope_does_not_depend_on_the_unit(self, rng):
        X = circle(600, rng).points
        slopes = [estimate_dimension(s * X, method="slope") for s in (1.0, 1e-8, 1e8)]
        assert slopes == pytest.approx([slopes[0]] * 3, rel=1e-6)

    @pytest.mark.parametrize("neighbors", [1, 0, -1, "auto"])
    def test_bad_neighbors(self, neighbors, rng):
        with pytest.raises(ValueError, match="neighbors="):
            estimate_dimension(rng.normal(size=(20, 2)), neighbors=neighbors)

    def test_unknown_method(self, rng):
        with pytest.raises(ValueError, match="method='box'"):
            estimate_dimension(rng.normal(size=(20, 2)), method="box")

"""Gram fields of weighted points: a point of weight w counts as w points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch
from scipy.special import i0, i1

import pointforms as pf
from pointforms.geometry.density import log_density
from pointforms.geometry.evidence import Evidence
from pointforms.geometry.neighbors import NeighborLists, neighbor_lists
from pointforms.preprocessing import Landmarks
from pointforms.weights import with_weights

FIXED = {"dimension": 2, "bandwidth_policy": "fixed", "bandwidth_units": 1.2}


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(30, 3))
    counts = rng.integers(1, 6, 30)
    return points, counts, np.repeat(points, counts, 0), np.repeat(np.arange(30), counts)


@pytest.mark.parametrize("measure", ["uniform", "volume", "volume-normalized"])
@pytest.mark.parametrize("neighbors", ["auto", 12, 60])
def test_equal_weights_change_nothing(sample, neighbors, measure):
    rng = np.random.default_rng(2)
    points = rng.normal(size=(60, 3))
    options = {"neighbors": neighbors, "bandwidth": "auto" if neighbors == 12 else 1.0}
    plain = pf.gram_field(points, **options)
    weighted = pf.gram_field(points, **options, weights=np.full(60, 37.0))
    for name in ("factor", "log_density", "scale"):
        assert torch.equal(getattr(plain, name), getattr(weighted, name))
    assert torch.equal(plain.measure(measure), weighted.measure(measure))


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("center", ["mean", "point"])
def test_weights_are_copies(sample, alpha, center):
    """On the complete graph with a given ρ, the field is that of the repeated points."""
    points, counts, copies, of = sample
    options = FIXED | {"alpha": alpha, "center": center}
    weighted = pf.gram_field(points, neighbors=30, **options, weights=counts)
    repeated = pf.gram_field(copies, neighbors=len(copies), **options)
    torch.testing.assert_close(weighted.matrix()[of], repeated.matrix(), rtol=1e-9, atol=1e-12)
    mu = weighted.measure("uniform")
    assert mu.sum() == pytest.approx(1)
    torch.testing.assert_close(mu, torch.from_numpy(counts / counts.sum()))
    C, again = (pf.comparison_matrix(_forms, field) for field in (weighted, repeated))
    torch.testing.assert_close(C, again, rtol=1e-9, atol=1e-12)
    unweighted = pf.gram_field(points, neighbors=30, **options)
    assert not np.allclose(unweighted.matrix()[of], repeated.matrix(), rtol=1e-3)


def _forms(x):
    return torch.stack([torch.ones_like(x), x], 1)


def test_density_counts_weights(sample):
    points, counts, copies, of = sample
    d, r0 = torch.full((1, 1), 2.0).double(), torch.linspace(0.5, 1.0, 30).double()
    one = neighbor_lists(torch.from_numpy(points)[None], 30)
    mass = torch.from_numpy(counts / counts.mean())[None]
    weighted = log_density(NeighborLists(one.sq, None, mass=mass), r0[None], d)[1]
    many = neighbor_lists(torch.from_numpy(copies)[None], len(copies))
    repeated = log_density(many, r0[of][None], d)[1]
    torch.testing.assert_close(weighted[0, of], repeated[0])


def test_volume_measure_divides_weights_by_the_density(sample):
    points, counts, _, _ = sample
    field = pf.gram_field(points, neighbors=16, dimension=2, weights=counts)
    volume = torch.from_numpy(counts / counts.sum()) / field.density
    torch.testing.assert_close(field.measure("volume"), volume)
    torch.testing.assert_close(field.measure("volume-normalized"), volume / volume.sum())
    single = field.to(dtype=torch.float32)
    assert single.measure("volume").dtype == torch.float32
    torch.testing.assert_close(single.measure("volume").double(), volume, rtol=1e-5, atol=0)


def test_operators_count_weights(sample):
    points, counts, copies, of = sample
    rng = np.random.default_rng(3)
    f, h = rng.normal(size=(2, 30))
    for symmetric in (False, True):
        options = FIXED | {"symmetric": symmetric, "alpha": 0.5}
        L = pf.laplacian(points, neighbors=30, **options, weights=counts)
        M = pf.laplacian(copies, neighbors=len(copies), **options)
        np.testing.assert_allclose((L @ torch.from_numpy(f))[of], M @ torch.from_numpy(f[of]))
    gamma = pf.carre_du_champ(f, h, points, neighbors=30, **FIXED, weights=counts)
    again = pf.carre_du_champ(f[of], h[of], copies, neighbors=len(copies), **FIXED)
    np.testing.assert_allclose(gamma[of], again)


def test_symmetric_laplacian_is_reversible(sample):
    points, counts, _, _ = sample
    L = pf.laplacian(points, neighbors=8, dimension=2, symmetric=True, weights=counts).to_dense()
    values = torch.linalg.eigvals(L)
    assert values.imag.abs().max() < 1e-9 * values.abs().max()
    # Kolmogorov: products around triangles agree in both directions
    forth = torch.einsum("ij,jk,ki->ijk", L, L, L)
    torch.testing.assert_close(forth, forth.permute(2, 1, 0), rtol=1e-6, atol=1e-9)


def test_affinities_count_weights(sample):
    points, counts, copies, of = sample
    A = np.exp(-((points[:, None] - points) ** 2).sum(-1))
    one = pf.Geometry(points, dimension=2, affinities=scipy.sparse.csr_array(A), weights=counts)
    spread = scipy.sparse.csr_array(A[of][:, of])
    many = pf.Geometry(copies, dimension=2, affinities=spread)
    torch.testing.assert_close(one.gram_field().matrix()[of], many.gram_field().matrix())
    L, M = one.laplacian(symmetric=True), many.laplacian(symmetric=True)
    f = torch.from_numpy(np.sin(np.arange(30.0)))
    torch.testing.assert_close((L @ f)[of], M @ f[of])


def test_batches_are_the_clouds_one_by_one():
    rng = np.random.default_rng(4)
    arrays = list(rng.normal(size=(4, 40, 2)))
    weights = [rng.uniform(1, 5, 40), None, rng.uniform(1, 5, 40), np.full(40, 3.0)]
    clouds = pf.Clouds.from_list(arrays, weights=weights)
    options = {"neighbors": 10, "dimension": 2}
    for field, cloud, own in zip(pf.gram_fields(clouds, **options), arrays, weights, strict=True):
        alone = pf.gram_field(cloud, **options, weights=own)
        torch.testing.assert_close(field.matrix(), alone.matrix())
        torch.testing.assert_close(field.measure("volume"), alone.measure("volume"))


def test_cache_knows_weights(tmp_path):
    rng = np.random.default_rng(5)
    points = rng.normal(size=(40, 2))
    weights = rng.uniform(1, 5, 40)
    options = {"neighbors": 10, "dimension": 2, "cache": tmp_path}
    plain = pf.gram_fields([points], **options)[0]
    weighted = pf.Clouds.from_list([points], weights=[weights])
    first = pf.gram_fields(weighted, **options)[0]
    assert len(list(tmp_path.glob("*/*.gram"))) == 2
    again = pf.gram_fields(weighted, **options)[0]
    assert torch.equal(first.factor, again.factor)
    assert torch.equal(first.weights, again.weights)
    assert not torch.equal(first.factor, plain.factor)
    # only ratios matter: no further file
    pf.gram_fields(pf.Clouds.from_list([points], weights=[2 * weights]), **options)
    pf.gram_fields(pf.Clouds.from_list([points], weights=[np.full(40, 2.0)]), **options)
    assert len(list(tmp_path.glob("*/*.gram"))) == 2


def test_evidence_counts_weights(sample):
    points, counts, copies, _ = sample
    cloud = with_weights(torch.from_numpy(points), torch.from_numpy(counts).double())
    plain, weighted = Evidence(torch.from_numpy(points)), Evidence(cloud)
    assert not np.allclose(plain.angles().sine, weighted.angles().sine)
    # copies of a point join their weights
    split = with_weights(torch.from_numpy(copies), torch.ones(len(copies)).double())
    split.weights[0] = 1 + 1e-12  # not all equal
    torch.testing.assert_close(
        torch.from_numpy(Evidence(split).angles().sine), torch.from_numpy(weighted.angles().sine)
    )


@pytest.mark.parametrize("method", ["farthest", "kmeans"])
def test_landmarks_of_a_circle_have_the_integrals_of_the_sample(method):
    """∫⟨dx, dx⟩ q = E sin² t = I₁(κ) / (κ I₀(κ)) for a von Mises density, and ∫⟨dx, dx⟩ dV = π."""
    kappa = 2.0
    t = np.random.default_rng(6).vonmises(0, kappa, 6000)
    circle = np.c_[np.cos(t), np.sin(t)]
    [landmarks] = Landmarks(n=200, method=method).fit_transform([circle])
    expected = i1(kappa) / (kappa * i0(kappa))

    def integral(points, measure, neighbors=16):
        field = pf.gram_field(points, neighbors=neighbors, dimension=1)
        return float(field.measure(measure) @ field.matrix()[:, 0, 0])

    whole = integral(circle, "uniform", neighbors=128)
    weighted = integral(landmarks, "uniform")
    bare = integral(np.asarray(landmarks), "uniform")
    assert whole == pytest.approx(expected, rel=0.03)
    assert weighted == pytest.approx(whole, rel=0.02)
    assert abs(bare - whole) > 0.1 * whole
    assert integral(landmarks, "volume") == pytest.approx(np.pi, rel=0.06)
    # the density of the sample, which the places of the landmarks alone do not have
    field = pf.gram_field(landmarks, neighbors=32, dimension=1)
    angle = np.arctan2(landmarks[:, 1], landmarks[:, 0]).numpy()
    truth = np.exp(kappa * np.cos(angle)) / (2 * np.pi * i0(kappa))
    error = np.log(field.density.numpy() / truth)
    assert np.sqrt(np.average(error**2, weights=landmarks.weights)) < 0.15

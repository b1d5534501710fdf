"""Distances between clouds: closed forms, and a slow reference of each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import wasserstein_distance
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from pointforms import models
from pointforms.models.distances import DistributionVectors

KINDS = ["sliced-wasserstein", "sliced-energy", "mmd"]


def squared(clouds, **options):
    """Squared distances of all pairs of clouds."""
    vectors = DistributionVectors(random_state=0, scale=None, **options).fit_transform(clouds)
    return squareform(pdist(vectors)) ** 2


def test_wasserstein_on_a_line_sorts_the_points(rng):
    clouds = [rng.normal(size=(8, 1)) * s for s in (1, 2, 5)]
    ordered = np.sort(np.stack(clouds)[..., 0], 1)
    expected = ((ordered[:, None] - ordered[None]) ** 2).mean(-1)
    # 32 levels are four per point: the integral over levels is exact
    np.testing.assert_allclose(squared(clouds), expected, rtol=1e-12)


def test_wasserstein_of_clouds_of_different_sizes(rng):
    # against points with weights, here copies: 4 and 8 points divide 32 levels
    small, large = rng.normal(size=(4, 1)), 3 + rng.normal(size=(8, 1))
    copies = [np.repeat(small, 2, axis=0), large]
    np.testing.assert_allclose(squared([small, large]), squared(copies), rtol=1e-12)
    # all mass moves to the right here, so that the first distance is the difference of means
    assert wasserstein_distance(small[:, 0], large[:, 0]) ** 2 <= squared([small, large])[0, 1]


def test_a_shift_in_space_costs_its_squared_length_over_the_dimension(rng):
    cloud, shift = rng.normal(size=(20, 5)), rng.normal(size=5)
    found = squared([cloud, cloud + shift], directions=30)[0, 1]
    assert found == pytest.approx(shift @ shift / 5, rel=1e-12)


def test_energy_on_a_line(rng):
    clouds = [rng.normal(size=(30, 1)), rng.normal(size=(50, 1)) + 1]
    x, y = clouds
    expected = 2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean()
    assert squared(clouds, distance="sliced-energy", levels=4000)[0, 1] == pytest.approx(
        expected, rel=0.01
    )
    # two points at distance a: 2a
    assert squared([[[0.0]], [[3.0]]], distance="sliced-energy")[0, 1] == pytest.approx(6)


def test_mmd_is_that_of_its_kernel(rng):
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(40, 2)) * 2 + 1
    width = np.median(pdist(np.concatenate([x, y])))

    def mean_kernel(a, b):
        return np.exp(-(cdist(a, b) ** 2) / (2 * width**2)).mean()

    expected = mean_kernel(x, x) + mean_kernel(y, y) - 2 * mean_kernel(x, y)
    found = squared([x, y], distance="mmd", directions=512)[0, 1]
    assert found == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_distributions_have_no_distance(rng, kind):
    cloud = rng.normal(size=(16, 3))
    shuffled = rng.permutation(cloud)
    other = rng.normal(size=(16, 3)) + 1
    found = squared([cloud, shuffled, other], distance=kind)
    assert found[0, 1] == pytest.approx(0, abs=1e-20)
    assert found[0, 2] > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_units_do_not_matter(rng, kind):
    clouds = [rng.normal(size=(10, 2)) for _ in range(6)]
    stretched = [cloud * [2.0**20, 2.0**-10] for cloud in clouds]
    model = DistributionVectors(distance=kind, random_state=0)
    np.testing.assert_allclose(
        clone(model).fit_transform(stretched), model.fit_transform(clouds), atol=1e-9
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_of_the_cloud_removes_its_place(rng, kind):
    cloud = rng.normal(size=(10, 2))
    assert squared([cloud, cloud + 9], distance=kind, frame="cloud")[0, 1] < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_learns_classes_that_differ_in_shape(rng, kind):
    def sample(count):
        y = np.arange(count) % 2
        return [rng.normal(size=(25, 2)) * ((1, 1), (1.6, 0.6))[c] for c in y], y

    clouds, y = sample(40)
    model = models.make("distances", random_state=0, distance=kind, directions=16).fit(clouds, y)
    test, truth = sample(40)
    assert roc_auc_score(truth, model.predict_proba(test)[:, 1]) > 0.9


def test_refusals(rng):
    with pytest.raises(ValueError, match="distance='hausdorff': expected one of"):
        DistributionVectors(distance="hausdorff").fit([rng.normal(size=(4, 2))])


def test_distances_between_clouds_are_those_of_their_vectors(rng):
    from pointforms.models import distribution_distances

    clouds = [rng.normal(size=(30, 2)) + shift for shift in (0.0, 0.0, 4.0)]
    for distance in ("sliced-wasserstein", "sliced-energy", "mmd"):
        D = distribution_distances(clouds, distance, random_state=1)
        vectors = DistributionVectors(distance=distance, random_state=1).fit_transform(clouds)
        np.testing.assert_allclose(D[0, 2], np.linalg.norm(vectors[0] - vectors[2]))
        np.testing.assert_array_equal(D, D.T)
        assert D[0, 1] < D[0, 2]

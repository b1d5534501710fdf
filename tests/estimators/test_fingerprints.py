"""Clouds are recognised after their values were rounded, and others are not taken for them."""

from __future__ import annotations

import numpy as np
import pytest

import pointforms as pf
from pointforms.estimators.fingerprints import (
    fingerprints,
    possible_fingerprints,
    shared_fingerprints,
)
from pointforms.estimators.training_clouds import fingerprints_of_fit
from pointforms.explain.unseen import _with_equal_clouds

FAR = {"temperature": (300, 1), "pH": (7.4, 0.02), "year": (2000, 5), "UTM": (500_000, 100)}


def known(cloud, texts) -> bool:
    [possible] = possible_fingerprints([cloud])
    return bool(set(possible) & set(texts))


def six_digits(values):
    values = np.asarray(values, dtype=float)
    return np.array([float(f"{value:.6g}") for value in values.ravel()]).reshape(values.shape)


@pytest.mark.parametrize("D", [1, 3, 20])
@pytest.mark.parametrize("n", [4, 40, 2000])
def test_rounding_and_order_do_not_matter(n, D, rng):
    clouds = [3 + rng.normal(size=(n, D)) for _ in range(20)]
    texts = fingerprints(clouds)
    for cloud in clouds:
        assert known(np.float32(cloud[rng.permutation(n)]), texts)
        assert known(np.round(cloud, 7), texts)
        assert not known(cloud + 0.01 * cloud.std() + 0.01, texts)
        assert not known(1.02 * cloud, texts)


@pytest.mark.parametrize("rounded", [np.float32, six_digits])
@pytest.mark.parametrize("n", [10, 200, 2000])
@pytest.mark.parametrize(("center", "deviation"), FAR.values(), ids=FAR)
def test_features_far_from_zero_are_recognised(center, deviation, n, rounded, rng):
    clouds = [center + deviation * rng.normal(size=(n, 2)) for _ in range(10)]
    texts = fingerprints(clouds)
    for cloud, text in zip(clouds, texts, strict=True):
        assert known(rounded(cloud), [text])
    assert not any(known(cloud + deviation / np.sqrt(n), texts) for cloud in clouds)


def heavy_tails(n, rng):
    return rng.standard_cauchy(size=(n, 3))


def logarithms_of_counts(n, rng):
    return np.log1p(rng.poisson(2, size=(n, 3)))


def standardised_indicators(n, rng):
    return (np.eye(4)[rng.integers(0, 4, size=n)] - 1 / 4) / np.sqrt(3 / 16)


def beside_a_constant(n, rng):
    return np.column_stack([rng.normal(size=(n, 2)), np.full(n, rng.normal())])


def features_of_all_sizes(n, rng):
    return rng.normal(size=(n, 4)) * [1, 5, 1e-9, 1e12] + [0, 2000, 1e-9, 0]


@pytest.mark.parametrize("rounded", [np.float32, six_digits])
@pytest.mark.parametrize("n", [1, 3, 60, 5000])
@pytest.mark.parametrize(
    "drawn",
    [
        heavy_tails,
        logarithms_of_counts,
        standardised_indicators,
        beside_a_constant,
        features_of_all_sizes,
    ],
)
def test_values_of_many_kinds_are_recognised(drawn, n, rounded):
    rng = np.random.default_rng(0)
    clouds = [drawn(n, rng) for _ in range(5)]
    texts = fingerprints(clouds)
    for cloud, text in zip(clouds, texts, strict=True):
        assert known(rounded(cloud), [text])


@pytest.mark.parametrize("n", [2, 60])
def test_rounded_weights_are_recognised(n, rng):
    clouds = [rng.normal(size=(n, 2)) for _ in range(20)]
    weights = [np.exp(rng.normal(size=n)) for _ in range(20)]
    texts = fingerprints(pf.Clouds.from_list(clouds, weights=weights))
    again = pf.Clouds.from_list([*map(six_digits, clouds)], weights=[*map(six_digits, weights)])
    for text, possible in zip(texts, possible_fingerprints(again), strict=True):
        assert text in possible
    other = pf.Clouds.from_list(clouds, weights=[weight**1.01 for weight in weights])
    assert not any(set(texts) & set(possible) for possible in possible_fingerprints(other))


def test_triangles_of_whole_numbers_are_different_clouds():
    corners = np.array([[1000, 2000], [3000, 5000], [4000, 1000]])
    triangles = [corners + i for i in range(40)]
    texts = fingerprints(triangles)
    for i, triangle in enumerate(triangles):
        assert known(triangle, texts[i : i + 1])
        assert not known(triangle, texts[:i] + texts[i + 1 :])


@pytest.mark.parametrize("n", [10, 200, 2000])
def test_small_changes_make_another_cloud(n, rng):
    for _ in range(20):
        cloud = rng.normal(size=(n, 3))
        texts = fingerprints([cloud])
        replaced = cloud.copy()
        replaced[rng.integers(n)] = rng.normal(size=3)
        assert not known(replaced, texts)
        assert not known(cloud + 5e-4 * cloud.std(0), texts)
        assert not known(1.0005 * cloud, texts)


@pytest.mark.parametrize(("n", "D"), [(3, 2), (36, 3), (5000, 3)])
def test_samples_of_one_distribution_are_different_clouds(n, D, rng):
    clouds = [rng.normal(size=(n, D)) for _ in range(300)]
    texts = fingerprints(clouds)
    assert len(set(texts)) == 300
    assert not any(known(rng.normal(size=(n, D)), texts) for _ in range(300))


@pytest.mark.parametrize("D", [1, 3])
@pytest.mark.parametrize("n", [10, 1000])
def test_samples_far_from_zero_are_different_clouds(n, D):
    rng = np.random.default_rng(0)
    texts = fingerprints([1000 + rng.normal(size=(n, D)) for _ in range(200)])
    assert len(set(texts)) == 200
    assert not any(known(1000 + rng.normal(size=(n, D)), texts) for _ in range(100))


def test_powers_of_two_are_different_scales(rng):
    cloud = rng.normal(size=(30, 2))
    assert len(set(fingerprints([cloud * 2.0**k for k in range(-20, 20)]))) == 40


def test_counts_that_differ_are_different_clouds(rng):
    clouds = [rng.integers(0, 3, size=(6, 2)) for _ in range(1000)]
    different = {cloud[np.lexsort(cloud.T)].tobytes() for cloud in clouds}
    assert len(set(fingerprints(clouds))) == len(different)


@pytest.mark.parametrize("value", [0.0, 1e-300, 1e300])
def test_extreme_and_constant_features(value):
    cloud = np.array([[0.0, value], [1.0, value], [2.0, value]])
    with np.errstate(all="raise"):
        [text] = fingerprints([cloud])
    assert known(cloud[::-1], [text])
    assert not known(cloud + np.array([0.0, 1.0 + value]), [text])


def test_training_clouds_are_found_in_a_table_that_was_rounded(rng):
    clouds = [rng.normal(size=(20, 2)) for _ in range(12)]
    model = pf.PointFormClassifier(epochs=1, random_state=0).fit(clouds, np.arange(12) % 2)
    again = [np.float32(cloud) for cloud in clouds[::-1]]
    assert model.training_positions(again).tolist() == list(range(12))[::-1]
    assert model.training_positions([2 * clouds[0]]).tolist() == [-1]


def test_rounded_copies_count_as_the_same_cloud(rng):
    clouds = [10 + rng.normal(size=(3, 2)) for _ in range(40)]
    both = clouds + [six_digits(cloud) for cloud in clouds]
    own, shared = fingerprints(both), shared_fingerprints(both)
    assert own[:40] != own[40:]  # statistics near the middle between two numbers
    assert shared[:40] == shared[40:] == own[:40]
    assert fingerprints_of_fit(both, np.arange(80)) == shared
    groups = _with_equal_clouds(both, None)
    assert groups[:40].tolist() == groups[40:].tolist()
    assert len(np.unique(groups)) == 40

"""Clouds are recognised after their values were rounded, and others are not taken for them."""

from __future__ import annotations

import numpy as np
import pytest

import pointforms as pf
from pointforms.estimators.fingerprints import fingerprints, possible_fingerprints


def known(cloud, texts) -> bool:
    [possible] = possible_fingerprints([cloud])
    return bool(set(possible) & set(texts))


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


@pytest.mark.parametrize(("n", "D"), [(3, 2), (36, 3), (5000, 3)])
def test_samples_of_one_distribution_are_different_clouds(n, D, rng):
    clouds = [rng.normal(size=(n, D)) for _ in range(300)]
    texts = fingerprints(clouds)
    assert len(set(texts)) == 300
    assert not any(known(rng.normal(size=(n, D)), texts) for _ in range(300))


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

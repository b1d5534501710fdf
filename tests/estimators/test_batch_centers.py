"""Centres of batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pointforms.estimators.batch_centers import (
    batch_centers,
    learn_batch_centers,
    without_batches,
)


@pytest.fixture
def clouds(rng) -> list[torch.Tensor]:
    return [torch.from_numpy(rng.normal(size=(n, 2)) + 10 * i) for i, n in enumerate((3, 30, 9, 5))]


BATCH = np.array(["x", "y", "x", "y"])


def test_a_centre_is_the_mean_of_means(clouds):
    """Large clouds do not count more than small ones."""
    centers = learn_batch_centers(clouds, BATCH)
    means = np.stack([cloud.mean(0) for cloud in clouds])
    assert list(centers) == ["x", "y"]
    np.testing.assert_allclose(centers["x"], means[[0, 2]].mean(0))
    np.testing.assert_allclose(centers["y"], means[[1, 3]].mean(0))


def test_known_batches_keep_their_centres(clouds):
    known = {"x": [1.0, 2.0], "z": [9.0, 9.0]}
    found = batch_centers(clouds, BATCH, known)
    assert found[0].tolist() == found[2].tolist() == [1.0, 2.0]
    np.testing.assert_allclose(found[1], learn_batch_centers(clouds, BATCH)["y"])


def test_centres_are_in_double_precision():
    """Of clouds near 1e8, single precision would keep multiples of 8."""
    clouds = [torch.tensor([[1e8 + 3.25]], dtype=torch.float64)]
    known = learn_batch_centers(clouds, np.array([4]))
    assert batch_centers(clouds, np.array([4]), known).tolist() == [[1e8 + 3.25]]


@pytest.mark.parametrize("batch", [[3, 3, 1, 1], [True, False, True, False], ["a", "b", "b", "b"]])
def test_batches_of_any_kind(batch, clouds):
    centers = learn_batch_centers(clouds, np.array(batch))
    assert set(centers) == set(batch)
    assert {type(name) for name in centers} == {type(batch[0])}  # as JSON has them


def test_without_batches_all_have_one_centre(clouds):
    moved = without_batches(clouds, BATCH)
    x, y = learn_batch_centers(moved, BATCH).values()
    np.testing.assert_allclose(x, y)
    for cloud, own in zip(clouds, moved, strict=True):
        torch.testing.assert_close(own - own.mean(0), cloud - cloud.mean(0))
    shifted = [cloud + 100.0 * (name == "x") for cloud, name in zip(clouds, BATCH, strict=True)]
    again = without_batches(shifted, BATCH)
    for a, b in zip(moved, again, strict=True):
        torch.testing.assert_close(b - again[0][0], a - moved[0][0])

"""Weighted means, deviations and quantiles."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pointforms.support.weighted_statistics import (
    pooled_weights,
    weighted_deviation,
    weighted_mean,
    weighted_quantiles,
)


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.integers(1, 9, 40)


def test_moments_are_those_of_copies(sample):
    values, counts = sample
    points, weights = torch.from_numpy(values), torch.from_numpy(counts).double()
    copies = points.repeat_interleave(torch.from_numpy(counts), 0)
    torch.testing.assert_close(weighted_mean(points, weights), copies.mean(0))
    torch.testing.assert_close(weighted_deviation(points, weights), copies.std(0, correction=0))
    assert torch.equal(weighted_mean(points, None), points.mean(0))


def test_quantiles_of_equal_weights_are_those_of_numpy(sample):
    values, _ = sample
    levels = [0, 0.1, 0.5, 0.77, 1]
    expected = np.quantile(values, levels, axis=0)
    for scale in (1e-300, 1.0, 1e300):
        found = weighted_quantiles(values, levels, np.full(40, scale))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_quantiles_lie_near_those_of_copies(sample):
    """Copies make steps where weights interpolate: both lie between the same two values."""
    values, counts = sample
    copies = np.repeat(values, counts, 0)
    for level in (0.1, 0.5, 0.9):
        found = weighted_quantiles(values, [level], counts.astype(float))[0]
        for j in range(3):
            below = (copies[:, j] <= found[j]).mean()
            assert abs(below - level) < counts.max() / counts.sum()
    ends = weighted_quantiles(values, [0, 1], counts.astype(float))
    np.testing.assert_array_equal(ends, [values.min(0), values.max(0)])


def test_pooled_weights_are_none_where_all_are_equal():
    three, two = torch.full((2,), 3.0), torch.full((1,), 2.0)
    assert pooled_weights([None, None], [2, 1]) is None
    assert pooled_weights([three, three], [2, 2]) is None
    assert pooled_weights([three, two], [2, 1]).tolist() == [3, 3, 2]
    assert pooled_weights([None, two], [2, 1]).tolist() == [1, 1, 2]

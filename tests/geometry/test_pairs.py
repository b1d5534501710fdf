"""Scales of pairs of points: what factors they stand for, and when there are any."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.geometry.pairs import centre_weights, factor_of_pairs

D = 40
VARIANTS = [
    {},
    {"neighbors": 20},  # lists shorter than the cloud, which has 24 points
    {"calibrate": False},
    {"calibrate": "point"},
    {"alpha": 0.5},
    {"bandwidth": 0.3},
    {"bandwidth_policy": "fixed"},
    {"truncation": False, "neighbors": 20},
]


def gram(field: pf.GramField) -> torch.Tensor:
    """G of the factor that the pairs of a field stand for."""
    V = factor_of_pairs(field.points, field.pairs)
    return V @ V.mT


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_pairs_have_the_gram_field_of_the_factor(variant, size, rng):
    clouds = [size * rng.normal(size=(24, D)) + 3 * size for _ in range(3)]
    options = {"neighbors": 32, "dimension": 3} | variant
    for field in pf.gram_fields(clouds, **options):
        torch.testing.assert_close(gram(field), field.matrix(), rtol=1e-9, atol=1e-12)


def test_pairs_of_weighted_and_of_repeated_points(rng):
    X = rng.normal(size=(12, D))
    repeated = np.concatenate([X, X[:4]])
    weights = np.r_[np.full(4, 2.0), np.ones(8)]
    options = {"neighbors": 32, "dimension": 2}
    for field in (
        pf.gram_field(repeated, **options),
        pf.gram_field(X, **options, weights=weights),
    ):
        torch.testing.assert_close(gram(field), field.matrix(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{"center": "point"}, {"rank": 3}, {"spectrum": "projector"}, {"neighbors": 12}],
    ids=str,
)
def test_other_factors_are_not_made_of_pairs(options, rng):
    field = pf.gram_field(rng.normal(size=(24, D)), **{"neighbors": 32, "dimension": 3} | options)
    assert field.pairs is None


def test_more_neighbors_than_features(rng):
    """The factor has D columns then, fewer than there are pairs."""
    assert pf.gram_field(rng.normal(size=(24, 5)), dimension=2).pairs is None


def test_a_neighbourhood_of_copies(rng):
    """Its factor is zero, not a rounding error, and so are its scales."""
    X = rng.normal(size=(22, D))
    X[:18] = X[0]
    field = pf.gram_field(X, neighbors=18, dimension=2)
    assert not field.factor[0].any()
    assert not field.pairs[0].any()
    torch.testing.assert_close(gram(field), field.matrix(), rtol=1e-9, atol=1e-12)


def test_pairs_move_and_are_cached_with_their_field(rng, tmp_path):
    clouds = [rng.normal(size=(20, D))]
    (first,), (again,) = (pf.gram_fields(clouds, dimension=2, cache=tmp_path) for _ in range(2))
    torch.testing.assert_close(again.pairs, first.pairs, rtol=0, atol=0)
    assert first.to(dtype=torch.float32).pairs.dtype == torch.float32


def test_weights_of_the_centre():
    scales = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-30, 1e-30]])
    expected = torch.tensor([[9 / 25, 16 / 25], [0.0, 0.0], [0.5, 0.5]])
    torch.testing.assert_close(centre_weights(scales), expected)

"""Perturbed clouds whose points have weights."""

from __future__ import annotations

import numpy as np
import pytest

import pointforms as pf
from pointforms.explain.perturbation import shuffled, with_quantiles_of


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_equal_weights_change_nothing(rng):
    cloud, donor, same = rng.normal(size=(30, 3)), rng.normal(size=(20, 3)), np.full(30, 2.0)
    order = rng.permutation(30)
    found = shuffled(cloud, [0, 2], order, same)
    np.testing.assert_array_equal(found, shuffled(cloud, [0, 2], order))
    for other, weights in ((donor, np.full(20, 5.0)), (cloud[::-1], same)):
        plain = with_quantiles_of(cloud, other, [1], np.random.default_rng(1))
        found = with_quantiles_of(cloud, other, [1], np.random.default_rng(1), same, weights)
        np.testing.assert_allclose(found, plain)


def test_quantiles_keep_the_weighted_distribution_of_the_donor(rng):
    cloud, donor = rng.normal(size=(400, 2)), rng.normal(size=(300, 2)) + 5
    weights, heavy = rng.uniform(1, 3, 400), np.exp(donor[:, 0])
    found = with_quantiles_of(cloud, donor, [0], rng, weights, heavy)
    expected = np.average(donor[:, 0], weights=heavy)
    assert np.average(found[:, 0], weights=weights) == pytest.approx(expected, abs=0.02)
    assert abs(expected - donor[:, 0].mean()) > 0.5
    assert (np.diff(found[np.argsort(cloud[:, 0]), 0]) >= 0).all()  # ranks stay


def test_shuffling_keeps_the_weighted_distribution_and_breaks_the_dependence(rng):
    x = rng.normal(size=500)
    cloud, weights = np.c_[x, x], np.exp(x)
    means, products = [], []
    for _ in range(50):
        found = shuffled(cloud, [0], rng.permutation(500), weights)
        means.append(np.average(found[:, 0], weights=weights))
        centred = found - np.average(found, axis=0, weights=weights)
        products.append(np.average(centred.prod(1), weights=weights))
    assert np.mean(means) == pytest.approx(np.average(x, weights=weights), abs=0.05)
    assert np.mean(means) - x.mean() > 0.5
    assert abs(np.mean(products)) < 0.1


def test_importance_keeps_weights():
    """The classes differ by the weights alone: only a model that is given them can be right."""
    rng = np.random.default_rng(2)
    y = np.arange(30) % 2
    points = [rng.normal(size=(40, 2)) for _ in y]
    weights = [
        np.exp((1 if label else -1) * cloud[:, 0]) for label, cloud in zip(y, points, strict=True)
    ]
    clouds = pf.Clouds.from_list(points, weights=weights)
    model = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y)
    assert model.oof_score_ > 0.95
    table = pf.explain.importance(model, clouds, y, pairs=None, repeats=2)
    assert [(row.name, row.kind) for row in table.found()] == [("x0", "distribution")]

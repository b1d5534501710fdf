"""Composition of clouds: closed forms, laws and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from pointforms import models
from pointforms.models.composition import Composition


def mixtures(rng: np.random.Generator, count: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Clouds of two kinds of points, of which the classes have different shares."""
    y = np.arange(count) % 2
    clouds = []
    for label in y:
        far = rng.random(30) < (0.3, 0.6)[label]
        clouds.append(rng.normal(size=(30, 2)) + 8 * far[:, None])
    return clouds, y


def test_centred_log_ratios_of_given_clusters():
    clouds = [[[0.0], [1.0], [9.0]], [[11.0], [9.0], [10.0]]]
    found = Composition(centers=[[0.0], [10.0]], pseudo_count=0.5).fit_transform(clouds)
    half = 0.5 * np.log([2.5 / 1.5, 0.5 / 3.5])
    np.testing.assert_allclose(found, np.stack([half, -half], 1), rtol=1e-12)


def test_ratios_sum_to_zero_and_ignore_the_order_of_points(rng):
    clouds, _ = mixtures(rng, 12)
    model = Composition(clusters=5, random_state=0).fit(clouds)
    found = model.transform(clouds)
    assert found.shape == (12, 5)
    np.testing.assert_allclose(found.sum(1), 0, atol=1e-12)
    np.testing.assert_array_equal(model.transform([rng.permutation(c) for c in clouds]), found)


def test_units_do_not_matter(rng):
    clouds, _ = mixtures(rng, 12)
    stretched = [cloud * [1e6, 1e-3] + [5, 7] for cloud in clouds]
    near = Composition(clusters=4, random_state=0).fit_transform(clouds)
    np.testing.assert_allclose(
        Composition(clusters=4, random_state=0).fit_transform(stretched), near
    )


def test_a_frame_of_the_cloud_removes_its_place(rng):
    clouds, _ = mixtures(rng, 12)
    moved = [cloud + rng.normal(size=2) * 50 for cloud in clouds]
    near = Composition(scale=None, frame="cloud", random_state=0).fit(clouds)
    np.testing.assert_array_equal(near.transform(moved), near.transform(clouds))


def test_no_more_clusters_than_distinct_points():
    found = Composition(clusters=16, random_state=0).fit_transform([[[0.0], [1.0]], [[0.0]]])
    assert found.shape == (2, 2)


def test_proportions_tell_mixtures_apart(rng):
    clouds, y = mixtures(rng, 60)
    model = models.make("composition", random_state=0, clusters=2).fit(clouds, y)
    test, truth = mixtures(rng, 60)
    assert roc_auc_score(truth, model.predict_proba(test)[:, 1]) > 0.9
    again = clone(model).fit(clouds, y)
    np.testing.assert_allclose(again.predict_proba(test), model.predict_proba(test))


def test_refusals():
    clouds = [[[0.0, 1.0], [1.0, 0.0]]]
    with pytest.raises(ValueError, match=r"centers=\[0\.0, 1\.0\]: expected finite numbers"):
        Composition(centers=[0.0, 1.0]).fit(clouds)
    with pytest.raises(ValueError, match="centers have 1 features, but the clouds 2"):
        Composition(centers=[[0.0], [1.0]]).fit(clouds)
    with pytest.raises(ValueError, match="frame='cloud': expected 'absolute' where centers"):
        Composition(centers=[[0.0, 0.0]], frame="cloud").fit(clouds)
    with pytest.raises(ValueError, match="pseudo_count=0: expected"):
        Composition(pseudo_count=0).fit(clouds)

from __future__ import annotations

import numpy as np
from tests.helpers.small_fits import SMALL

import pointforms as pf


def test_learns_and_predicts(fitted, data):
    *_, test, y = data
    probabilities = fitted.predict_proba(test)
    assert isinstance(probabilities, np.ndarray)
    assert probabilities.shape == (40, 2)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert fitted.score(test, y) > 0.9
    assert fitted.dimension_ == 1
    assert fitted.n_features_in_ == 2
    C = fitted.comparison_matrices(test)
    assert C.shape == (40, 4, 4)
    np.testing.assert_allclose(C, C.transpose(0, 2, 1))


def test_labels_may_be_anything(data):
    clouds, y, _, test, _ = data
    names = np.array(["circle", "line"])[y]
    clf = pf.PointFormClassifier(**SMALL).fit(clouds, names)
    assert set(clf.predict(test)) <= {"circle", "line"}
    assert clf.classes_.tolist() == ["circle", "line"]


def test_three_classes(rng):
    """Circles, lines across, lines along."""
    clouds, labels = [], []
    for i in range(60):
        t, kind = rng.uniform(0, 1, 30), i % 3
        angle = 2 * np.pi * t
        flat = np.c_[2 * t - 1, 0.02 * rng.normal(size=30)]
        clouds.append([np.c_[np.cos(angle), np.sin(angle)], flat, flat[:, ::-1]][kind])
        labels.append("abc"[kind])
    clf = pf.PointFormClassifier(**SMALL).fit(clouds, labels)
    assert clf.predict_proba(clouds).shape == (60, 3)
    assert clf.score(clouds, labels) > 0.9

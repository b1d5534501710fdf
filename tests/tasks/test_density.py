from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tests.helpers.tasks import means

import pointforms as pf


def test_the_density_of_density_check_is_the_label():
    """|mean| of a von Mises sample is I1(κ) / I0(κ), which grows with κ."""
    task = pf.tasks.load("density-check")
    length = np.linalg.norm(means(task), axis=1)
    assert roc_auc_score(task.labels, length) > 0.95
    for cloud in task.clouds[:20]:
        np.testing.assert_allclose(np.linalg.norm(cloud, axis=1), 1.0)


def test_the_folds_of_density_shift_have_densities_of_their_own():
    task = pf.tasks.load("density-shift")
    assert all(len(set(task.groups[task.folds == fold])) == 1 for fold in range(5))
    # E cos 2(t - m) = a / 2 for the density 1 + a cos 2(t - m): 0 in one fold, 0.475 in another
    strength = {}
    for group in range(5):
        circles = (task.groups == group) & (task.labels == 0)
        values = []
        for i in np.flatnonzero(circles):
            cloud = task.clouds[i] - (task.clouds[i].max(0) + task.clouds[i].min(0)) / 2
            values.append(abs(np.exp(2j * np.arctan2(*cloud.T[::-1])).mean()))
        strength[group] = np.mean(values)
    assert strength[0] < 0.1
    assert strength[4] == pytest.approx(0.475, abs=0.05)


def test_ellipses_are_as_long_as_circles():
    from pointforms.tasks.density import _ellipse

    t = np.linspace(0, 2 * np.pi, 2001)
    for aspect in (1.0, 1.4):
        curve = _ellipse(aspect, 0.3, t)
        steps = np.hypot(*np.diff(curve, axis=0).T)
        assert steps.sum() == pytest.approx(2 * np.pi, rel=1e-4)
        # equal shares of the angle are equal lengths of the curve
        np.testing.assert_allclose(steps, steps.mean(), rtol=0.02)

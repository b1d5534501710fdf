from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.tasks import auroc, means

import pointforms as pf


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", ["concentric-circles", "parallel-lines", "colocated"])
def test_pairs_share_their_places(name, seed):
    assert 0.4 < auroc(means(pf.tasks.load(name, seed)), pf.tasks.load(name, seed)) < 0.6


@pytest.mark.parametrize("seed", [0, 1])
def test_circles_vs_lines_is_as_hard_as_it_should_be(seed):
    task = pf.tasks.load("circles-vs-lines", seed)
    radius = np.array([[np.linalg.norm(cloud, axis=1).mean()] for cloud in task.clouds])
    assert 0.6 < auroc(np.hstack([means(task), radius]), task) < 0.8


def test_arcs_and_segments_have_the_same_spread():
    task = pf.tasks.load("colocated", clouds=40, points=4000)
    for arc, segment in zip(task.clouds[::2], task.clouds[1::2], strict=True):
        np.testing.assert_allclose(arc.mean(0), segment.mean(0), atol=0.1)
        widest = [np.linalg.eigvalsh(np.cov(cloud.T))[-1] for cloud in (arc, segment)]
        assert widest[0] == pytest.approx(widest[1], rel=0.1)

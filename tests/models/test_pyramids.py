from __future__ import annotations

import numpy as np
import pytest
import torch

from pointforms.models.neural import NeuralClassifier


def test_pyramids_hold_far_points_and_their_neighbours(rng):
    from pointforms.models.pyramids import cloud_pyramids, farthest_points

    cloud = torch.from_numpy(rng.normal(size=(40, 3)))
    X = cloud.numpy()
    chosen = farthest_points(X, 10)
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    for i in range(1, 10):  # each is the farthest from all before it
        assert distance[chosen[:i]].min(0).argmax() == chosen[i]
    order = rng.permutation(40)
    np.testing.assert_array_equal(X[order][farthest_points(X[order], 10)], X[chosen])
    (pyramid,) = cloud_pyramids([cloud], (0.25, 0.5), 4)
    base, middle, top = (level.numpy() for level in pyramid.levels)
    assert [len(level) for level in (base, middle, top)] == [40, 10, 5]
    np.testing.assert_array_equal(middle[:, 0], chosen)
    np.testing.assert_array_equal(middle[:, 1:5], distance[chosen].argsort(1)[:, :4])
    among = distance[np.ix_(chosen, chosen)]
    np.testing.assert_array_equal(middle[:, 5:], among.argsort(1)[:, :4])
    np.testing.assert_array_equal(top[:, 1:5], among[top[:, 0]].argsort(1)[:, :4])
    with pytest.raises(ValueError, match="the pyramids have 3 levels, the network 5"):
        NeuralClassifier(network="point-transformer").prepare([pyramid])

from __future__ import annotations

import numpy as np
import pytest
import torch

from pointforms.models.neighbor_graphs import cloud_graphs, neighbor_count


def test_graphs_hold_nearest_neighbours(rng):
    cloud = torch.from_numpy(rng.normal(size=(20, 3)))
    (graph,) = cloud_graphs([cloud], 3)
    distance = torch.cdist(cloud, cloud)
    near = distance.argsort(1)[:, :4]
    expected = {(i, int(j)) for i in range(20) for j in near[i]}
    expected |= {(j, i) for i, j in expected}
    owners = np.repeat(np.arange(20), np.diff(graph.starts))
    assert set(zip(owners.tolist(), graph.neighbors.tolist(), strict=True)) == expected


@pytest.mark.parametrize("n", range(1, 200))
def test_auto_leaves_points_that_are_no_neighbours(n):
    count = neighbor_count("auto", n)
    assert count <= n - 1
    assert n < 5 or 2 <= count < n - 1
    assert n < 16 or count <= n / 3 + 1


def test_auto_keeps_the_graphs_of_small_clouds_from_being_complete(rng):
    clouds = [torch.from_numpy(rng.normal(size=(n, 3))) for n in (8, 12, 20, 40)]
    for neighbors, complete in ((32, 3), ("auto", 0)):
        graphs = cloud_graphs(clouds, neighbors)
        assert sum(len(one.neighbors) == len(one.points) ** 2 for one in graphs) == complete

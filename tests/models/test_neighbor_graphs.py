from __future__ import annotations

import numpy as np
import torch

from pointforms.models.neighbor_graphs import cloud_graphs


def test_graphs_hold_nearest_neighbours(rng):
    cloud = torch.from_numpy(rng.normal(size=(20, 3)))
    (graph,) = cloud_graphs([cloud], 3)
    distance = torch.cdist(cloud, cloud)
    near = distance.argsort(1)[:, :4]
    expected = {(i, int(j)) for i in range(20) for j in near[i]}
    expected |= {(j, i) for i, j in expected}
    owners = np.repeat(np.arange(20), np.diff(graph.starts))
    assert set(zip(owners.tolist(), graph.neighbors.tolist(), strict=True)) == expected

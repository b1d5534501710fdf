from __future__ import annotations

import torch


def clouds_of(rng, sizes, D=3):
    return [torch.from_numpy(rng.normal(size=(n, D))) for n in sizes]


def test_vector_attention_equals_that_over_edges(rng):
    from torch_geometric.nn import PointTransformerConv

    from pointforms.models.hierarchical_networks import _Block
    from pointforms.models.pyramids import PyramidStore, cloud_pyramids

    pyramids = cloud_pyramids(clouds_of(rng, (3, 6, 15)), (0.5,), 4)
    batch = PyramidStore(pyramids, torch.float64, "cpu").gather(torch.arange(3))
    level = batch.levels[1]
    x = batch.points.flatten(0, 1)[level.centres]
    ours = _Block(3, 8).double().attention
    plain = PointTransformerConv(8, 8, ours.pos_nn, ours.attn_nn, add_self_loops=False).double()
    plain.load_state_dict(ours.state_dict())
    h = torch.randn(len(x), 8, dtype=torch.float64)
    owners = torch.arange(len(x)).unsqueeze(1).expand_as(level.beside)
    edges = torch.stack([level.beside[level.has_beside], owners[level.has_beside]])
    real = level.real.flatten().bool()
    torch.testing.assert_close(ours(h, x, level)[real], plain(h, x, edges)[real])

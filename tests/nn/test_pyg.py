from __future__ import annotations

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

import pointforms as pf
from pointforms.nn.field_store import FieldStore
from pointforms.nn.point_forms import PointForms
from pointforms.nn.pyg import AttachGramFactor, form_batch


def test_geometric_batches_give_the_same_matrices(rng):
    clouds = [torch.from_numpy(rng.normal(size=(n, 3))) for n in (9, 40, 25)]
    options = {"neighbors": 16, "dimension": 2}
    transform = AttachGramFactor(width=3, options=options)
    loader = DataLoader([transform(Data(pos=cloud)) for cloud in clouds], batch_size=3)
    data = next(iter(loader))
    batch = form_batch(data.pos, data.gram_factor, data.gram_weight, data.batch)
    torch.manual_seed(0)
    layer = PointForms(3, 1, 4, hidden=(8,)).double()
    C = layer(batch, batch.points)
    store = FieldStore(pf.gram_fields(clouds, **options), dtype=torch.float64)
    ours = store.gather(torch.arange(3))
    torch.testing.assert_close(C, layer(ours, ours.points), rtol=1e-8, atol=1e-10)


def test_one_cloud_needs_no_numbers(rng):
    data = AttachGramFactor(width=2)(Data(pos=torch.from_numpy(rng.normal(size=(20, 3)))))
    assert data.gram_factor.shape == (20, 3, 2)
    batch = form_batch(data.pos, data.gram_factor, data.gram_weight)
    assert batch.points.shape == (1, 20, 3)

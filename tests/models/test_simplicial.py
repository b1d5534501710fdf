from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

import pointforms as pf
from pointforms import models
from pointforms.models.hodge import clique_complex
from pointforms.models.layers import mean_pool
from pointforms.models.simplicial import SimplicialNetwork, SimplicialStore, cloud_complexes


def plain_messages(h, B1, B2):
    """Messages of one cloud: differences, directions, triangles, points, one after the other."""
    B1, B2 = (torch.from_numpy(B.toarray()) for B in (B1, B2))

    def means(A):
        return A.abs() / A.abs().sum(1, keepdim=True).clamp_min(1)

    edges = torch.nn.functional.normalize((B1.T @ h).abs(), dim=-1, eps=1e-6) * h.shape[-1] ** 0.5
    edges = edges + means(B2) @ (means(B2.T) @ edges)
    return means(B1) @ edges


def test_outputs_and_gradients_are_those_of_the_slow_reference(rng):
    clouds = [torch.from_numpy(rng.normal(size=(n, 3))) for n in (3, 20, 1, 12)]
    clouds[1][-1] = clouds[1][0]  # an edge without length
    store = SimplicialStore(cloud_complexes(clouds, 4), torch.float64, "cpu")
    fast = SimplicialNetwork(3, 2, hidden=16).double()
    slow = copy.deepcopy(fast)
    found = fast(store.gather(torch.arange(4)))
    expected = []
    for cloud in clouds:
        B1, B2 = clique_complex(cloud.numpy(), min(4, len(cloud) - 1))
        h = cloud
        for linear, norm in zip(slow.maps, slow.norms, strict=True):
            h = torch.relu(norm(linear(h)))
            h = h + plain_messages(h, B1, B2)
        expected.append(slow.head(mean_pool(h[None], torch.ones(1, len(h)).double())))
    expected = torch.cat(expected)
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(found)
    for ours, other in zip(
        torch.autograd.grad((weights * found).sum(), list(fast.parameters())),
        torch.autograd.grad((weights * expected).sum(), list(slow.parameters())),
        strict=True,
    ):
        torch.testing.assert_close(ours, other)


@pytest.mark.slow
def test_tangents_are_learned_from_edges():
    """circles-vs-lines needs directions, which edges have: the simplicial network finds them."""
    task = pf.tasks.load("circles-vs-lines", clouds=120, points=48)
    train, test = np.flatnonzero(task.folds != 0), np.flatnonzero(task.folds == 0)
    model = models.make("tdl", random_state=0, epochs=30)
    model.fit([task.clouds[i] for i in train], task.labels[train], task.groups[train])
    found = model.predict_proba([task.clouds[i] for i in test])[:, 1]
    assert roc_auc_score(task.labels[test], found) >= 0.95

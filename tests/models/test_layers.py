"""Tests of the layers that several baselines use."""

import copy

import pytest
import torch
from torch import Tensor

from pointforms.models.layers import SharedMLP, max_pool


def layer_by_layer(mlp: SharedMLP, h: Tensor, real: Tensor) -> Tensor:
    """Apply maps, normalisations and ReLU one after the other: the slow reference."""
    for linear, norm in zip(mlp.maps, mlp.norms, strict=True):
        h = linear(h)
        h = torch.relu(norm(h.flatten(0, -2), real.flatten()).view(h.shape))
    return h


def random_mlp() -> SharedMLP:
    torch.manual_seed(0)
    mlp = SharedMLP((5, 8, 7)).double()
    for norm in mlp.norms:  # some gains are negative
        norm.gain.data.normal_()
        norm.shift.data.normal_()
    return mlp


@pytest.mark.parametrize("size", [9, 80])
@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_maps_and_normalisations_folded_into_one_product_equal_them_layer_by_layer(
    size, pool, training
):
    folded = random_mlp().train(training)
    plain = copy.deepcopy(folded)
    h = torch.randn(4, size, 5, dtype=torch.float64, requires_grad=True)
    real = (torch.rand(4, size) > 0.3).double()
    real[:, 0] = 1
    expected = layer_by_layer(plain, h, real)
    if pool:
        expected, found = max_pool(expected, real), folded.pooled(h, real, real)
    else:
        expected, found = expected * real[..., None], folded(h, real) * real[..., None]
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(found)
    for one, other in zip(
        torch.autograd.grad((found * weights).sum(), [h, *folded.parameters()]),
        torch.autograd.grad((expected * weights).sum(), [h, *plain.parameters()]),
        strict=True,
    ):
        torch.testing.assert_close(one, other)
    for one, other in zip(folded.buffers(), plain.buffers(), strict=True):
        torch.testing.assert_close(one, other)


def test_points_that_do_not_count_in_statistics_can_still_be_largest():
    mlp = random_mlp()
    h = torch.randn(2, 70, 5, dtype=torch.float64)
    counted, has = torch.zeros(2, 70).double(), torch.ones(2, 70).double()
    counted[0] = 1
    expected = max_pool(layer_by_layer(copy.deepcopy(mlp), h, counted), has)
    torch.testing.assert_close(mlp.pooled(h, counted, has), expected)

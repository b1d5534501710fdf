"""Comparison slot by slot, held to the definition by the compound of the factor."""

from __future__ import annotations

from math import comb

import pytest
import torch
from torch import Tensor
from torch.autograd import grad
from torch.func import vmap

from pointforms.exterior import compound
from pointforms.nn import comparison, slots
from pointforms.nn.comparison import compare_by_slots, compare_pulled

B, N, H, FORMS = 3, 5, 4, 2
SIZES = [(5, 5, 2), (7, 2, 2), (13, 4, 2), (13, 13, 2), (6, 6, 3), (9, 3, 3), (6, 4, 4), (4, 4, 4)]


def tensors(D: int, r: int, k: int, *stack: int) -> list[Tensor]:
    """Hidden features, weight and bias of the last map, factor and measure."""
    width = FORMS * comb(D, k)
    generator = torch.Generator().manual_seed(0)
    shapes = (B, N, H), (width, H), (width,), (B, N, D, r), (B, N)
    found = [torch.randn(*stack, *s, dtype=torch.float64, generator=generator) for s in shapes]
    return [*(value.requires_grad_() for value in found[:3]), found[3], found[4].abs()]


@pytest.fixture(params=[0, 1000], ids=["sums over clouds", "point by point"])
def sums(request, monkeypatch):
    """Go through G by sums over the points of a cloud, or point by point, whatever the sizes."""
    monkeypatch.setattr(comparison, "_MANY", request.param)


def by_definition(h: Tensor, W: Tensor, bias: Tensor, V: Tensor, mu: Tensor, k: int) -> Tensor:
    F = (h @ W.mT + bias).unflatten(-1, (FORMS, -1))
    return compare_pulled(F @ compound(V, k), mu)


@pytest.mark.usefixtures("sums")
@pytest.mark.parametrize("block", [1, 4, 64])
@pytest.mark.parametrize(("D", "r", "k"), SIZES)
def test_values_and_gradients_are_those_of_the_definition(D, r, k, block, monkeypatch):
    monkeypatch.setattr(slots, "_POINTS", (block, block))
    given = tensors(D, r, k)
    expected, found = by_definition(*given, k), compare_by_slots(*given, k)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    seed = torch.randn(expected.shape, dtype=torch.float64)
    for a, b in zip(grad(found, given[:3], seed), grad(expected, given[:3], seed), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_more_slots_than_directions_are_zero():
    h, *others = tensors(6, 2, 3)
    C = compare_by_slots(h, *others, 3)
    assert torch.equal(C, torch.zeros(B, FORMS, FORMS, dtype=torch.float64))
    assert torch.equal(grad(C.sum(), h)[0], torch.zeros_like(h))


@pytest.mark.usefixtures("sums")
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("D", "r", "k"), [(6, 3, 2), (6, 6, 3)])
def test_stacked_models_are_compared_one_by_one(D, r, k, shared):
    *last, V, mu = tensors(D, r, k, 4)
    if shared:
        V, mu = V[0], mu[0]
    dims = (0, 0, 0, *(None if shared else 0 for _ in range(2)))
    stacked = vmap(lambda *args: compare_by_slots(*args, k), in_dims=dims)(*last, V, mu)
    alone = torch.stack(
        [
            compare_by_slots(*(t[i] for t in last), *((V, mu) if shared else (V[i], mu[i])), k)
            for i in range(4)
        ]
    )
    torch.testing.assert_close(stacked, alone)
    for a, b in zip(grad(stacked.sum(), last), grad(alone.sum(), last), strict=True):
        torch.testing.assert_close(a, b)


def test_bands_hold_every_coefficient_once():
    for D, _, k in SIZES:
        W = torch.arange(1.0, FORMS * comb(D, k) + 1)[:, None]
        in_bands, _ = slots.in_bands(W, W[:, 0], D, k)
        assert torch.equal(in_bands[in_bands > 0].sort()[0], W[:, 0])
        assert torch.equal(slots.from_bands(in_bands, D, k), W)
        assert len(in_bands) == FORMS * sum(b.height * b.width for b in slots._bands(D, k))


@pytest.mark.usefixtures("sums")
@pytest.mark.parametrize(("D", "r", "k"), [(13, 13, 2), (13, 3, 2), (6, 6, 3), (6, 3, 3)])
def test_second_derivatives_are_those_of_the_definition(D, r, k):
    given = tensors(D, r, k)
    found = []
    for compare in (by_definition, compare_by_slots):
        C = compare(*given, k)
        first = grad(C.square().sum(), given[:3], create_graph=True)
        found.append(grad(sum(g.square().sum() for g in first), given[:3]))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("D", "r", "k"), SIZES)
def test_values_are_the_same_without_a_gradient(D, r, k):
    given = tensors(D, r, k)
    with torch.no_grad():
        found = compare_by_slots(*given, k)
    torch.testing.assert_close(found, compare_by_slots(*given, k), rtol=1e-10, atol=1e-10)


@pytest.mark.usefixtures("sums")
@pytest.mark.parametrize("r", [2, 6])
def test_training_after_inference_mode(r):
    """Tables that were first made in inference mode serve second derivatives."""
    for table in (slots._places, slots._from_bands, slots._slots, slots._way_back):
        table.cache_clear()
    given = tensors(6, r, 2)
    with torch.inference_mode():
        compare_by_slots(*given, 2)
    first = grad(compare_by_slots(*given, 2).sum(), given[:3], create_graph=True)
    assert all(g.isfinite().all() for g in grad(first[0].square().sum(), given[:3]))


@pytest.mark.usefixtures("sums")
def test_stacks_of_stacks():
    h, W, bias, V, mu = tensors(6, 6, 2, 2, 3)
    V, mu = V[0, 0], mu[0, 0]
    found = vmap(vmap(lambda *last: compare_by_slots(*last, V, mu, 2)))(h, W, bias)
    for i in range(2):
        for j in range(3):
            alone = by_definition(h[i, j], W[i, j], bias[i, j], V, mu, 2)
            torch.testing.assert_close(found[i, j], alone)

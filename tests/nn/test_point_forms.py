"""Layers and readouts: invariances, and equality with the library's own pairings."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
import torch
from tests.helpers.numbers import random_rotation

import pointforms as pf
from pointforms.nn.batches import FormBatch
from pointforms.nn.field_store import FieldStore
from pointforms.nn.point_forms import PointForms

D = 4


@pytest.fixture
def fields(rng):
    return pf.gram_fields([rng.normal(size=(n, D)) for n in (12, 30, 45)], dimension=2)


def layer(degree: int, coefficients: str = "dense", **options) -> PointForms:
    torch.manual_seed(degree)
    return PointForms(
        D, degree, forms=3, coefficients=coefficients, hidden=(8,), **options
    ).double()


def batch_of(fields, degrees=()) -> FormBatch:
    store = FieldStore(fields, degrees=degrees, dtype=torch.float64)
    return store.gather(torch.arange(len(fields)))


def as_forms(module: PointForms):
    """A layer's dense network as the callable that the pairings take."""
    return module.network


def wedge_product(module: PointForms):
    """Dense coefficients of wedge forms: sums of minors of the matrix of 1-forms."""
    from pointforms.exterior import compound

    def forms(p):
        one = module.network(p).unflatten(1, (module.forms, module.terms, module.degree))
        return compound(one, module.degree).squeeze(-2).sum(2)  # (n, l, R, 1, C) -> (n, l, C)

    return forms


@pytest.mark.parametrize("degree", range(5))
def test_dense_layer_equals_comparison_matrix(degree, fields):
    module = layer(degree)
    batch = batch_of(fields)
    C = module(batch, batch.points)
    for field, matrix in zip(fields, C, strict=True):
        expected = pf.comparison_matrix(as_forms(module), field, degree)
        torch.testing.assert_close(matrix, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_wedge_layer_equals_its_dense_forms(degree, fields):
    module = layer(degree, "wedge", terms=2)
    batch = batch_of(fields)
    for field, matrix in zip(fields, module(batch, batch.points), strict=True):
        expected = pf.comparison_matrix(wedge_product(module), field, degree)
        torch.testing.assert_close(matrix, expected, rtol=1e-8, atol=1e-12)


def test_wedges_have_no_binomials():
    dense, wedge = (PointForms(50, 3, 8, kind, (16,)) for kind in ("dense", "wedge"))
    count = lambda m: sum(p.numel() for p in m.parameters())  # noqa: E731
    assert count(dense) > 16 * 8 * comb(50, 3)
    assert count(wedge) < 16 * 8 * 2 * 3 * 50 * 1.2


def gradients(C: torch.Tensor, module: PointForms) -> list[torch.Tensor]:
    """Of a function of C that is not symmetric in it."""
    weights = torch.arange(C.numel(), dtype=C.dtype).view_as(C)
    return list(torch.autograd.grad((weights * C.square()).sum(), list(module.parameters())))


@pytest.mark.parametrize("rank", [None, 3, 1])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_all_routes_agree(degree, rank, rng):
    """Factor or slots, and what is prepared, in value and gradient, and plain differentiation."""
    fields = pf.gram_fields([rng.normal(size=(n, D)) for n in (26, 30)], dimension=2, rank=rank)
    module = layer(degree)
    plain = batch_of(fields)
    F = module.network(plain.points)
    pulled = F @ torch.stack([_padded_compound(f, degree, 30) for f in fields])
    expected = torch.einsum("bn,bnxc,bnyc->bxy", plain.weights, pulled, pulled)
    routes = [module(plain, plain.points)]
    prepared = batch_of(fields, degrees=(degree,))
    assert (degree in prepared.metrics) == (2 * comb(rank or D, degree) > comb(D, degree))
    routes.append(module(prepared, prepared.points))
    reference = gradients(expected, module)
    for C in routes:
        torch.testing.assert_close(C, expected, rtol=1e-9, atol=1e-12)
        for a, b in zip(gradients(C, module), reference, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9)


def _padded_compound(field, degree: int, n: int) -> torch.Tensor:
    from pointforms.exterior import compound

    L = compound(field.factor, degree)
    return torch.cat([L, L.new_zeros(n - len(L), *L.shape[1:])])


@pytest.mark.parametrize("coefficients", ["dense", "wedge"])
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_symmetric_positive_and_blind_to_order(degree, coefficients, rng):
    module = layer(degree, coefficients)
    X = rng.normal(size=(40, D))
    fields = pf.gram_fields([X, X[rng.permutation(40)]], dimension=2)
    batch = batch_of(fields)
    C = module(batch, batch.points)
    torch.testing.assert_close(C, C.mT)
    assert float(torch.linalg.eigvalsh(C).min().detach()) > -1e-10
    torch.testing.assert_close(C[0], C[1], rtol=1e-8, atol=1e-10)


def test_rigid_motion_of_clouds_with_the_forms(rng):
    """ω'(p) = R ω(Rᵀ(p - t)): the first and last maps of the network turn with the clouds."""
    module = layer(1)
    X = rng.normal(size=(40, D))
    R, t = random_rotation(D, rng), rng.normal(size=D)
    before = batch_of([pf.gram_field(X, dimension=2)])
    after = batch_of([pf.gram_field(X @ R.T + t, dimension=2)])
    C = module(before, before.points)
    Q = torch.from_numpy(R)
    moved = layer(1)
    with torch.no_grad():
        first, last = moved.network.trunk[0], moved.network.last
        first.weight.copy_(first.weight @ Q.T)
        first.bias.sub_(first.weight @ torch.from_numpy(t))
        weight = last.weight.view(3, D, -1)
        last.weight.copy_(torch.einsum("ij,ljh->lih", Q, weight).reshape_as(last.weight))
        last.bias.copy_((last.bias.view(3, D) @ Q.T).flatten())
    torch.testing.assert_close(moved(after, after.points), C, rtol=1e-8, atol=1e-10)


def test_layers_work_alone_in_anyones_network(fields):
    """As a module among others, trained by an ordinary optimiser."""
    torch.manual_seed(0)
    forms = PointForms(D, 1, 3, hidden=(8,)).double()
    head = torch.nn.Linear(9, 1).double()
    optimizer = torch.optim.Adam([*forms.parameters(), *head.parameters()], lr=1e-2)
    batch = batch_of(fields)
    target = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
    losses = []
    for _ in range(150):
        out = head(forms(batch, batch.points).flatten(1)).squeeze(-1)
        loss = (out - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.1 * losses[0]
    assert np.isfinite(losses).all()

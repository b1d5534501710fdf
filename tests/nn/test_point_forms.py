"""Layers and readouts: invariances, and equality with the library's own pairings."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
import torch
from tests.helpers.numbers import random_rotation

import pointforms as pf
from pointforms.nn.network import FeatureNorm, PointFormNetwork
from pointforms.nn.point_forms import PointForms
from pointforms.nn.readouts import READOUTS, readout_width
from pointforms.nn.stores import FieldStore, FormBatch, pad

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
        one = module.network(p).unflatten(1, (module.forms, module.network.terms, module.degree))
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
def test_all_routes_agree(degree, rank, rng, monkeypatch):
    """Factor, metric and blocks of slots, in value and gradient, and plain differentiation."""
    import pointforms.nn.point_forms as module_file

    fields = pf.gram_fields([rng.normal(size=(n, D)) for n in (12, 30)], dimension=2, rank=rank)
    module = layer(degree)
    plain = batch_of(fields)
    F = module.network(plain.points)
    pulled = F @ torch.stack([_padded_compound(f, degree, 30) for f in fields])
    expected = torch.einsum("bn,bnxc,bnyc->bxy", plain.weights, pulled, pulled)
    found = [module(plain, plain.points)]
    prepared = batch_of(fields, degrees=(degree,))
    assert (degree in prepared.metrics) == (2 * comb(rank or D, degree) > comb(D, degree))
    found.append(module(prepared, prepared.points))
    if degree >= 2:
        monkeypatch.setattr(module_file, "COMPOUND_MAX", -1)
        monkeypatch.setattr(module_file, "_WORKING_SET", 500)
        found.append(module(plain, plain.points))
    reference = gradients(expected, module)
    for C in found:
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


@pytest.mark.parametrize("coefficients", ["dense", "wedge"])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_standardised_coordinates_are_a_change_of_variables(degree, coefficients, rng):
    """(x - m)/s with V / s: the same as clouds that were standardised beforehand."""
    torch.manual_seed(0)
    network = PointFormNetwork(
        D, 2, (degree,), 3, coefficients=coefficients, hidden=(8,)
    ).double().eval()  # fmt: skip
    X = rng.normal(size=(50, D)) * [1, 10, 0.1, 3] + 5
    mean, scale = torch.from_numpy(X.mean(0)), torch.from_numpy(X.std(0))
    field = pf.gram_field(X, dimension=2)
    plain = batch_of([field])
    inside = FormBatch(
        (plain.points - mean) / scale, plain.factor / scale.unsqueeze(-1), plain.weights
    )
    expected = network.comparison_matrices(inside)[0]
    network.standardize(mean, scale)
    torch.testing.assert_close(
        network.comparison_matrices(plain)[0], expected, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("readout", list(READOUTS))
@pytest.mark.parametrize("degrees", [(1,), (0, 1, 2)])
def test_gradients(readout, degrees, rng):
    torch.manual_seed(0)
    network = PointFormNetwork(D, 2, degrees, 3, readout, hidden=(5,), head=4).double()
    network.eval()
    batch = batch_of(
        pf.gram_fields([rng.normal(size=(9, D)), rng.normal(size=(14, D))], dimension=2)
    )
    parameters = dict(network.named_parameters())

    def loss(*values):
        named = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(network, named, (batch,)).square().sum()

    inputs = tuple(p.detach().clone().requires_grad_() for p in parameters.values())
    assert torch.autograd.gradcheck(loss, inputs, atol=1e-6)


class TestReadouts:
    @pytest.fixture
    def C(self):
        A = torch.randn(6, 4, 7, generator=torch.Generator().manual_seed(0)).double()
        return A @ A.mT

    @pytest.mark.parametrize("name", list(READOUTS))
    def test_widths(self, name, C):
        assert READOUTS[name](C).shape == (6, readout_width(name, 4))

    def test_entries(self, C):
        assert torch.equal(READOUTS["tri"](C)[0, :4], C[0, 0])
        assert torch.equal(READOUTS["flat"](C)[0], C[0].flatten())
        assert torch.equal(READOUTS["diag"](C)[0], C[0].diagonal())

    def test_pool_ignores_the_order_of_the_forms(self, C):
        order = torch.tensor([2, 0, 3, 1])
        torch.testing.assert_close(READOUTS["pool"](C), READOUTS["pool"](C[:, order][:, :, order]))

    def test_gram_is_logarithms_and_correlations(self, C):
        features = READOUTS["gram"](C)
        torch.testing.assert_close(
            features[:, :4], C.diagonal(dim1=1, dim2=2).log(), rtol=0, atol=1e-4
        )
        assert float(features[:, 4:].abs().max()) <= 1.0
        scale = torch.diag(torch.tensor([1.0, 100.0, 1.0, 1.0], dtype=torch.float64))
        moved = READOUTS["gram"](scale @ C @ scale)
        torch.testing.assert_close(moved[:, 4:], features[:, 4:], rtol=0, atol=1e-2)

    @pytest.mark.parametrize("name", list(READOUTS))
    def test_zero_matrices_are_harmless(self, name):
        C = torch.zeros(2, 3, 3, requires_grad=True)
        READOUTS[name](C).sum().backward()
        assert torch.isfinite(C.grad).all()


def test_norm_ignores_clouds_that_do_not_count():
    norm, other = FeatureNorm(3).double(), FeatureNorm(3).double()
    x = torch.randn(6, 3, dtype=torch.float64)
    counts = torch.tensor([1.0, 1, 1, 1, 0, 0], dtype=torch.float64)
    torch.testing.assert_close(norm(x, counts)[:4], other(x[:4]))
    torch.testing.assert_close(norm.center, other.center)
    out = norm(x[:4])
    torch.testing.assert_close(out.mean(0), torch.zeros(3, dtype=torch.float64), rtol=0, atol=1e-9)
    torch.testing.assert_close(
        out.std(0, correction=0), torch.ones(3, dtype=torch.float64), rtol=0, atol=1e-5
    )


class TestStore:
    def test_gather_pads_and_weighs(self, fields):
        store = FieldStore(fields, dtype=torch.float64)
        batch = store.gather(torch.tensor([2, 0]))
        assert batch.points.shape == (2, 45, D)
        assert torch.equal(batch.points[1, :12], fields[0].points)
        assert float(batch.weights[1, 12:].abs().max()) == 0.0
        torch.testing.assert_close(batch.weights.sum(1), torch.ones(2, dtype=torch.float64))
        G = batch.factor[0] @ batch.factor[0].mT
        torch.testing.assert_close(G, fields[2].matrix())

    def test_a_part_stands_for_the_whole(self, fields):
        store = FieldStore(fields, dtype=torch.float64)
        rows = torch.stack([torch.randperm(45)[:20], torch.arange(20)])
        batch = store.gather(torch.tensor([2, 0]), rows)
        torch.testing.assert_close(batch.weights.sum(1), torch.ones(2, dtype=torch.float64))
        assert torch.equal(batch.points[0], fields[2].points[rows[0]])

    def test_moments(self, fields):
        store = FieldStore(fields, dtype=torch.float64)
        mean, scale = store.moments([0, 2])
        points = torch.cat([fields[0].points, fields[2].points])
        torch.testing.assert_close(mean, points.mean(0))
        torch.testing.assert_close(scale, points.std(0, correction=0))

    def test_pad_reads_numbered_rows(self):
        rows = torch.arange(10.0).view(5, 2)
        padded, mask = pad(rows, torch.tensor([0, 0, 0, 2, 2]))
        assert padded.shape == (3, 3, 2)
        assert mask.sum(1).tolist() == [3, 0, 2]
        assert torch.equal(padded[2, :2], rows[3:])


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

"""Coefficients that read the features of their own basis form alone."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from torch import nn

import pointforms as pf
import pointforms.nn.point_forms as module_file
from pointforms.estimators.stacking import Stack
from pointforms.exterior import compound
from pointforms.nn.batches import FormBatch
from pointforms.nn.field_store import FieldStore
from pointforms.nn.own_coefficients import OwnCoefficients
from pointforms.nn.point_forms import PointForms

D = 4


def layer(degree: int, coefficients: str = "dense", inputs: int = D, **options) -> PointForms:
    torch.manual_seed(degree)
    options = {"sees": "own", "hidden": (16, 8), **options}
    return PointForms(D, degree, 3, coefficients, inputs=inputs, **options).double()


def batch_of(rng, degrees=(), sizes=(12, 30), rank=None) -> FormBatch:
    clouds = [rng.normal(size=(n, D)) for n in sizes]
    fields = pf.gram_fields(clouds, dimension=2, neighbors=8, rank=rank)
    store = FieldStore(fields, degrees=degrees, dtype=torch.float64)
    return store.gather(torch.arange(len(sizes)))


def coefficients_of(module: PointForms, x: torch.Tensor) -> torch.Tensor:
    """Return F (n, l, C), for wedge forms by the minors of their 1-forms."""
    F = module.network(x)
    if not module.wedge:
        return F
    one_forms = F.unflatten(-2, (module.forms, module.terms, module.degree))
    return compound(one_forms, module.degree).squeeze(-2).sum(-2)


@pytest.mark.parametrize(
    ("degree", "kind"), [(1, "dense"), (2, "dense"), (3, "dense"), (2, "wedge"), (3, "wedge")]
)
@pytest.mark.parametrize("copies", [1, 2])
def test_a_coefficient_depends_on_its_own_features_alone(degree, kind, copies):
    module = layer(degree, kind, inputs=copies * D)
    x = torch.randn(7, copies * D, dtype=torch.float64, requires_grad=True)
    F = coefficients_of(module, x)
    for place, own in enumerate(combinations(range(D), degree)):
        (gradient,) = torch.autograd.grad(F[..., place].sum(), x, retain_graph=True)
        read = gradient.view(7, copies, D).abs().sum((0, 1)) > 0
        assert read.tolist() == [j in own for j in range(D)]


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("copies", [1, 2])
def test_grouped_maps_are_single_networks(degree, copies):
    module = layer(degree, inputs=copies * D).network
    assert isinstance(module, OwnCoefficients)
    scale = torch.tensor([2.0, 0.5, 3.0, 1.0], dtype=torch.float64)
    module.set_scale(scale)
    x = torch.randn(2, 5, copies * D, dtype=torch.float64)
    F = module(x)
    for place, own in enumerate(combinations(range(D), degree)):
        one: list[nn.Module] = []
        for grouped in [*module.trunk, module.last]:
            if isinstance(grouped, nn.SiLU):
                one.append(grouped)
                continue
            weight = grouped.weight[place]
            single = nn.Linear(weight.shape[1], weight.shape[0]).double()
            single.load_state_dict(
                {"weight": weight, "bias": grouped.bias.view(-1, len(weight))[place]}
            )
            one.append(single)
        read = [copy * D + j for copy in range(copies) for j in own]
        expected = nn.Sequential(*one)(x[..., read]) / scale[list(own)].prod()
        torch.testing.assert_close(F[..., place], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", ["dense", "wedge"])
@pytest.mark.parametrize("rank", [None, 2])
@pytest.mark.parametrize("degree", [1, 2])
def test_every_route_compares_these_forms(degree, rank, kind, rng, monkeypatch):
    module = layer(degree, kind)
    plain = batch_of(rng, rank=rank)
    L = compound(plain.factor, degree)
    pulled = coefficients_of(module, plain.points) @ L
    expected = torch.einsum("bn,bnxc,bnyc->bxy", plain.weights, pulled, pulled)
    routes = [module(plain, plain.points)]
    if kind == "dense":
        weights = plain.weights[..., None, None]
        prepared = plain._replace(metrics={degree: L @ L.mT * weights})
        routes.append(module(prepared, prepared.points))
    if kind == "dense" and degree == 2:
        monkeypatch.setattr(module_file, "COMPOUND_MAX", -1)
        monkeypatch.setattr(module_file, "_WORKING_SET", 500)
        routes.append(module(plain, plain.points))
    reference = torch.autograd.grad(expected.square().sum(), list(module.parameters()))
    for C in routes:
        torch.testing.assert_close(C, expected, rtol=1e-9, atol=1e-12)
        found = torch.autograd.grad(C.square().sum(), list(module.parameters()))
        for a, b in zip(found, reference, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-10)
    assert float(torch.linalg.eigvalsh(routes[0].detach()).min()) > -1e-10


@pytest.mark.parametrize("degree", [1, 2])
def test_the_order_of_points_does_not_matter(degree, rng):
    module = layer(degree)
    batch = batch_of(rng, sizes=(20,))
    order = torch.randperm(20)
    other = batch._replace(
        points=batch.points[:, order],
        factor=batch.factor[:, order],
        weights=batch.weights[:, order],
    )
    torch.testing.assert_close(module(batch, batch.points), module(other, other.points))


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("shared", [0, 1])
def test_stacked_layers_are_single_layers(degree, shared, rng):
    layers = [layer(degree) for _ in range(3)]
    for seed, module in enumerate(layers):
        torch.manual_seed(seed)
        for p in module.parameters():
            nn.init.normal_(p)
    batch = batch_of(rng, degrees=(degree,))
    stack = Stack(list(layers))

    def compare(model, some: FormBatch) -> torch.Tensor:
        return model(some, some.points)

    given = batch if shared else torch.utils._pytree.tree_map(lambda t: torch.stack([t] * 3), batch)
    C = stack.call(compare, given, shared=shared)
    for module, matrix in zip(layers, C, strict=True):
        torch.testing.assert_close(matrix, module(batch, batch.points), rtol=1e-9, atol=1e-12)


def test_forms_of_degree_0_read_all(rng):
    module = layer(0)
    x = torch.randn(5, D, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(module.network(x).sum(), x)
    assert bool((gradient != 0).all())


@pytest.mark.parametrize("kind", ["dense", "wedge"])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_chosen_places_are_all_that_is_read(degree, kind, rng):
    module = layer(degree, kind, inputs=2 * D, sees=(2, 0))
    x = torch.randn(5, 2 * D, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(module.network(x).sum(), x)
    assert (gradient[0] != 0).nonzero().flatten().tolist() == [0, 2, D, D + 2]
    batch = batch_of(rng)
    both = torch.cat([batch.points, batch.points], -1)
    assert module(batch, both).shape == (2, 3, 3)


def test_networks_share_out_the_hidden_units():
    one, many = PointForms(2, 1, sees="own"), PointForms(50, 1, sees="own")
    assert one.network.trunk[0].weight.shape == (2, 32, 1)
    assert many.network.trunk[2].weight.shape == (50, 8, 8)


def test_too_many_coefficients_are_refused():
    with pytest.raises(ValueError, match='use coefficients="wedge"'):
        PointForms(300, 3, 8, sees="own")


@pytest.mark.parametrize("sees", ["owm", [], [D], [-1]])
def test_what_cannot_be_seen_is_refused(sees):
    with pytest.raises(ValueError, match=r"sees=.*expected .*places"):
        PointForms(D, 1, sees=sees)

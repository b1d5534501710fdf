"""Gradients of the comparison: of first and second order, by every route, alone and stacked."""

from __future__ import annotations

from math import comb

import pytest
import torch
from torch import Tensor
from torch.autograd import grad, gradcheck, gradgradcheck
from torch.func import functional_call, vjp, vmap
from torch.utils._pytree import tree_map

from pointforms.exterior import compound, pull
from pointforms.geometry.pairs import centre_weights, factor_of_pairs
from pointforms.nn import point_forms
from pointforms.nn.batches import FormBatch
from pointforms.nn.comparison import (
    compare,
    compare_by_metric,
    compare_by_pairs,
    compare_by_slots,
    compare_pulled,
)
from pointforms.nn.point_forms import PointForms

B, N, D, R, H, FORMS = 2, 4, 4, 3, 3, 2


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def last_map(width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden features, weight and bias of the last map of a coefficient network."""
    tensors = normal(B, N, H), normal(FORMS * width, H, seed=1), normal(FORMS * width, seed=2)
    for tensor in tensors:
        tensor.requires_grad_()
    return tensors


def batch() -> FormBatch:
    return FormBatch(normal(B, N, D), normal(B, N, D, R, seed=3), normal(B, N, seed=4).abs())


def pairs() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Positions, scales with sqrt(μ) in them, centre weights, and the factor that they stand for.

    More positions than points: a part of a cloud is compared.
    """
    positions, scales = normal(B, N + 2, D, seed=5), normal(B, N + 2, N + 2, seed=6).abs()
    V = torch.stack([factor_of_pairs(*one) for one in zip(positions, scales, strict=True)])[:, :N]
    scales, mu = scales[:, :N], batch().weights
    return positions, scales * mu.sqrt().unsqueeze(-1), centre_weights(scales), V


def by_definition(h: Tensor, W: Tensor, bias: Tensor, V: Tensor, mu: Tensor) -> Tensor:
    F = (h @ W.mT + bias).unflatten(-1, (FORMS, -1))
    return compare_pulled(F @ V, mu)


@pytest.mark.parametrize("route", ["factor", "metric", "slots", "pairs"])
def test_second_derivatives_are_those_of_the_definition(route):
    """The Hessian of a loss, for hidden features, weight and bias: none is missing or off."""
    degree = 2 if route == "slots" else 1
    inputs = last_map(comb(D, degree))
    factor, mu = batch().factor, batch().weights
    *of_pairs, factor_of_them = pairs()
    V = factor_of_them if route == "pairs" else compound(factor, degree)

    def ours(*args: Tensor) -> Tensor:
        if route == "pairs":
            return compare_by_pairs(*args, *of_pairs)
        if route == "slots":
            return compare_by_slots(*args, factor, mu, degree)
        if route == "factor":
            return compare(*args, V, mu)
        return compare_by_metric(*args, V @ V.mT * mu[..., None, None])

    def curvature(function) -> tuple[Tensor, ...]:
        first = grad(function(*inputs).pow(2).sum(), inputs, create_graph=True)
        return grad(sum(one.pow(2).sum() for one in first), inputs)

    expected = curvature(lambda *args: by_definition(*args, V, mu))
    for a, b in zip(curvature(ours), expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("route", ["factor", "metric", "pairs"])
def test_gradcheck_of_both_orders(route):
    V, mu = batch().factor, batch().weights
    metric, of_pairs = V @ V.mT * mu[..., None, None], pairs()[:3]

    def function(*args: Tensor) -> Tensor:
        if route == "pairs":
            return compare_by_pairs(*args, *of_pairs)
        return compare(*args, V, mu) if route == "factor" else compare_by_metric(*args, metric)

    assert gradcheck(function, last_map(D))
    assert gradgradcheck(function, last_map(D))


ROUTES = [("factor", k) for k in range(4)] + [("metric", k) for k in (1, 2, 3)]
ROUTES += [("pairs", 1), ("own pairs", 1)]
ROUTES += [(route, k) for route in ("blocks", "compound", "wedge") for k in (2, 3)]


def of_route(route: str, degree: int, monkeypatch) -> tuple[PointForms, FormBatch]:
    """A layer and a batch that it compares by this route."""
    torch.manual_seed(0)
    kind = "wedge" if route == "wedge" else "dense"
    sees = "own" if route in ("blocks", "own pairs") else "all"
    layer = PointForms(D, degree, FORMS, kind, hidden=(H,), sees=sees).double()
    clouds = batch()
    if route == "blocks":
        monkeypatch.setattr(point_forms, "COMPOUND_MAX", 0)
        monkeypatch.setattr(point_forms, "_WORKING_SET", 5 * FORMS * comb(D, degree - 1) * D)
    if "pairs" in route:
        clouds = clouds._replace(pairs=pairs()[:3])
    if route == "compound":
        clouds = clouds._replace(compounds={degree: compound(clouds.factor, degree)})
    if route == "metric":
        L = compound(clouds.factor, degree)
        clouds = clouds._replace(metrics={degree: L @ L.mT * clouds.weights[..., None, None]})
    return layer, clouds


@pytest.mark.parametrize(("route", "degree"), ROUTES)
def test_gradcheck_of_the_layer(route, degree, monkeypatch):
    """Every route of every degree, with respect to what the network reads and its parameters."""
    layer, clouds = of_route(route, degree, monkeypatch)
    names = [name for name, _ in layer.named_parameters()]

    def function(x: Tensor, *values: Tensor) -> Tensor:
        return functional_call(layer, dict(zip(names, values, strict=True)), (clouds, x))

    inputs = [clouds.points, *(p.detach().clone() for p in layer.parameters())]
    inputs = [value.requires_grad_() for value in inputs]
    assert gradcheck(function, inputs, fast_mode=True)
    assert gradgradcheck(function, inputs, fast_mode=True)


def test_blocks_keep_the_parameters_of_the_call(monkeypatch):
    """They are computed again when functional_call is over, and the layer has its own back."""
    torch.manual_seed(0)
    layer, clouds = PointForms(D, 2, FORMS, hidden=(H,), sees="own").double(), batch()
    lent = {name: torch.randn_like(p).requires_grad_() for name, p in layer.named_parameters()}

    def gradients() -> tuple[Tensor, ...]:
        loss = functional_call(layer, lent, (clouds, clouds.points)).pow(2).sum()
        return grad(loss, tuple(lent.values()))

    expected = gradients()
    monkeypatch.setattr(point_forms, "COMPOUND_MAX", 0)
    for a, b in zip(gradients(), expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("route", [compare, compare_by_pairs])
@pytest.mark.parametrize("inside", [True, False], ids=["vmap of grad", "grad of vmap"])
def test_a_gradient_penalty_on_stacked_models(inside, route):
    """The gradient of |∂C/∂W|² under torch.func, as the trainer stacks models: one by one."""
    geometry = pairs()[:3] if route is compare_by_pairs else (batch().factor, batch().weights)
    h, W, bias = (torch.stack([t.detach(), 2 * t.detach()]) for t in last_map(D))

    def penalty(W: Tensor, h: Tensor, bias: Tensor, derivative) -> Tensor:
        slope = derivative(lambda W: route(h, W, bias, *geometry).pow(2).sum(), W)
        return slope.pow(2).sum()

    func_grad = lambda function, x: torch.func.grad(function)(x)  # noqa: E731
    auto_grad = lambda function, x: grad(function(x), x, create_graph=True)[0]  # noqa: E731
    if inside:
        stacked = vmap(torch.func.grad(lambda W, h, b: penalty(W, h, b, func_grad)))(W, h, bias)
    else:
        W.requires_grad_()
        values = vmap(lambda W, h, b: route(h, W, b, *geometry).pow(2).sum())(W, h, bias)
        (slope,) = grad(values.sum(), W, create_graph=True)
        (stacked,) = grad(slope.pow(2).sum(), W)
    for e in range(2):
        one = W[e].detach().requires_grad_()
        (expected,) = grad(penalty(one, h[e], bias[e], auto_grad), one)
        torch.testing.assert_close(stacked[e], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 0, 1), (0, 2, 1)])
def test_gradients_that_arrive_permuted(order):
    V, mu = batch().factor, batch().weights
    weights = normal(B, FORMS, FORMS).permute(order).contiguous()
    ours, expected = (
        grad((function(*inputs, V, mu).permute(order) * weights).sum(), inputs)
        for function, inputs in ((compare, last_map(D)), (by_definition, last_map(D)))
    )
    for a, b in zip(ours, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("inside", [True, False], ids=["backward inside", "backward outside"])
@pytest.mark.parametrize(("route", "degree"), ROUTES)
def test_autocast(route, degree, inside, monkeypatch):
    """The network is rounded, but not the comparison; gradients are those of the parameters."""
    layer, clouds = of_route(route, degree, monkeypatch)
    layer, clouds = layer.float(), tree_map(Tensor.float, clouds)
    parameters = list(layer.parameters())
    C = layer(clouds, clouds.points)
    expected = grad(C.pow(2).sum(), parameters)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = layer(clouds, clouds.points)
        loss = rounded.pow(2).sum()
        if inside:
            found = grad(loss, parameters)
    if not inside:
        found = grad(loss, parameters)
    assert rounded.dtype == torch.float32
    assert (rounded - C).norm() < 0.05 * C.norm()
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == torch.float32
        assert (a - b).norm() < 0.1 * b.norm()


@pytest.mark.parametrize("route", [compare, compare_by_metric, compare_by_pairs, compare_by_slots])
def test_comparisons_are_not_rounded_by_autocast(route):
    degree = 2 if route is compare_by_slots else 1
    h, W, bias = (tensor.detach().float() for tensor in last_map(comb(D, degree)))
    V, mu = batch().factor.float(), batch().weights.float()
    geometry = {
        compare: (V, mu),
        compare_by_metric: (V @ V.mT * mu[..., None, None],),
        compare_by_pairs: [tensor.float() for tensor in pairs()[:3]],
        compare_by_slots: (V, mu, degree),
    }[route]
    with torch.autocast("cpu", torch.bfloat16):
        found = route(h, W, bias, *geometry)
        of_half = route(h.bfloat16(), W, bias, *geometry)
    assert torch.equal(found, route(h, W, bias, *geometry))
    assert torch.equal(of_half, route(h.bfloat16().float(), W, bias, *geometry))


@pytest.mark.parametrize(("route", "degree"), ROUTES)
def test_no_clouds(route, degree, monkeypatch):
    """A batch without clouds has no matrices and zero gradients: one process of many may get it."""
    layer, clouds = of_route(route, degree, monkeypatch)
    none = tree_map(lambda tensor: tensor[:0], clouds)
    C = layer(none, none.points)
    assert C.shape == (0, FORMS, FORMS)
    C.sum().backward()
    assert all(p.grad is None or not p.grad.any() for p in layer.parameters())


@pytest.mark.parametrize(("route", "degree"), [("factor", 1), ("metric", 1), ("pairs", 1)])
def test_compiled(route, degree, monkeypatch):
    """torch.compile traces the routes of 1-forms, and their gradients."""
    layer, clouds = of_route(route, degree, monkeypatch)
    parameters = list(layer.parameters())
    torch._dynamo.reset()
    C = layer(clouds, clouds.points)
    traced = torch.compile(layer, backend="aot_eager")(clouds, clouds.points)
    torch.testing.assert_close(traced, C)
    of_traced, of_C = (grad(one.pow(2).sum(), parameters) for one in (traced, C))
    for a, b in zip(of_traced, of_C, strict=True):
        torch.testing.assert_close(a, b)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            traced = torch.compile(layer, backend="aot_eager")(clouds, clouds.points)
        torch.testing.assert_close(traced, C)


@pytest.mark.parametrize("degree", [2, 3])
def test_blocks_are_not_rounded_by_autocast(degree, monkeypatch):
    layer, clouds = of_route("blocks", degree, monkeypatch)
    layer, clouds = layer.float(), tree_map(Tensor.float, clouds)
    with torch.autocast("cpu", torch.bfloat16):
        found = layer(clouds, clouds.points)
        rounded = layer.network(clouds.points.flatten(0, 1)).float()
    pulled = pull(rounded, clouds.factor.flatten(0, 1), degree, "slots").unflatten(0, (B, N))
    torch.testing.assert_close(found, compare_pulled(pulled, clouds.weights))


@pytest.mark.parametrize(("route", "degree"), ROUTES)
def test_many_gradients_at_once(route, degree, monkeypatch):
    """Rows of a Jacobian by one batched backward pass are those of single ones."""
    layer, clouds = of_route(route, degree, monkeypatch)
    x = clouds.points.requires_grad_()
    C = layer(clouds, x)
    rows = torch.eye(C.numel(), dtype=C.dtype).view(-1, *C.shape)
    batched = vmap(lambda row: grad(C, x, row, retain_graph=True)[0])(rows)
    for row, found in zip(rows, batched, strict=True):
        torch.testing.assert_close(found, grad(C, x, row, retain_graph=True)[0])


@pytest.mark.parametrize(("route", "degree"), [one for one in ROUTES if one[0] != "blocks"])
def test_stacked_networks_with_one_gradient_of_their_matrices(route, degree, monkeypatch):
    """The gradient that comes back belongs to no model, unlike their parameters."""
    layer, clouds = of_route(route, degree, monkeypatch)
    first = {name: p.detach() for name, p in layer.named_parameters()}
    stacked = {name: torch.stack([p, 0.5 * p]) for name, p in first.items()}
    one = normal(B, FORMS, FORMS, seed=9)

    def back(parameters: dict[str, Tensor]) -> dict[str, Tensor]:
        def matrices(p: dict[str, Tensor]) -> Tensor:
            return functional_call(layer, p, (clouds, clouds.points))

        return vjp(matrices, parameters)[1](one)[0]

    found = vmap(back)(stacked)
    for i in range(2):
        expected = back({name: p[i] for name, p in stacked.items()})
        for name, values in expected.items():
            torch.testing.assert_close(found[name][i], values)

"""Comparison matrices with gradients of their own, as functions of the last map of a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from itertools import chain
from math import comb
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

from pointforms.nn import slots
from pointforms.nn.batches import split_points
from pointforms.nn.full_precision import casts_by_itself

# Up to this many coefficients per form, products of single entries, at all points at once, are
# faster than products of small matrices.
_FEW = 6


def _with_signature(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep the signature of a function, so that torch does not inspect it on every call."""
    function.__signature__ = signature(function)  # type: ignore[attr-defined]
    return function


def _backward(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run a backward pass without autocast; without a gradient, return None for every input."""

    @wraps(function)
    def run(ctx: Any, g: Tensor | None, *others: Any) -> tuple[Tensor | None, ...]:
        if g is None:
            return (None,) * len(ctx.needs_input_grad)
        if not casts_by_itself(g):
            return function(ctx, g, *others)  # type: ignore[no-any-return]
        with torch.autocast(g.device.type, enabled=False):
            return function(ctx, g, *others)  # type: ignore[no-any-return]

    return run


class ByFactor(torch.autograd.Function):
    """Comparison through a factor V, with its own gradient.

    With y = F V, and y' = (g + gᵀ) μ y, cloud by cloud, pushed back to Z = y' Vᵀ:

        C  = Σ_p μ(p) y(p) y(p)ᵀ
        ∂W = Σ_p Z(p) h(p)ᵀ,    ∂bias = Σ_p Z(p),    ∂h(p) = Wᵀ Z(p)

    Only μ y is kept for the backward pass, not the coefficients. It is a constant to autograd: a
    backward pass that is itself differentiated (create_graph=True) computes it again. All tensors
    may have one more leading dimension, for stacked models, which V and μ lack where the models
    share their clouds. Products with W are those of all points at once, whatever their part.
    """

    @staticmethod
    @_with_signature
    def forward(  # type: ignore[override]
        h: Tensor, W: Tensor, bias: Tensor, *geometry: Tensor
    ) -> tuple[Tensor, ...]:
        pulled = _pulled(h, W, bias, geometry[::2])
        weighted = _weighted(pulled, geometry[1::2])
        C = [yw @ y.mT for y, yw in zip(pulled, weighted, strict=True)]
        return _joined(C, -3), *weighted

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)  # no zeros for what is not differentiable
        ctx.save_for_backward(*inputs, *output[1:])

    @staticmethod
    @_backward
    def backward(ctx: Any, g: Tensor, *of_weighted: Any) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        h, W, bias, *geometry = ctx.saved_tensors
        geometry, weighted = geometry[: -len(of_weighted)], geometry[-len(of_weighted) :]
        if torch.is_grad_enabled():
            weighted = _weighted(_pulled(h, W, bias, geometry[::2]), geometry[1::2])
        both = (g + g.mT).split([_clouds(y) for y in weighted], -3)
        back = []
        for V, y, mixing in zip(geometry[::2], weighted, both, strict=True):
            mixed = mixing @ y
            of_points = mixed.unflatten(-1, (V.shape[-3], -1)).transpose(
                -3, -2
            )  # (..., B, n, l, r)
            back.append(_apply(of_points, V.mT).flatten(-4, -3).flatten(-2))
        Z = _joined(back, -2)
        return Z @ W, Z.mT @ h, Z.sum(-2), *[None] * len(geometry)

    vmap = staticmethod(lambda info, in_dims, *args: _stacked(ByFactor, info, in_dims, args))


class ByPairs(torch.autograd.Function):
    """Comparison through pairs of points instead of factors, with its own gradient.

    With positions x, scales s that have sqrt(μ) in them, centre weights q, and T_pj = F(p) · x_j:

        y_pj = s_pj (T_pj - Σ_i q_pi T_pi),    C = Σ_p y(p) y(p)ᵀ
        Z(p) = Σ_j s_pj y'_pj x_j,             y' = (g + gᵀ) y, cloud by cloud

    and the gradients are those of :class:`ByFactor`. Z needs no centre, since Σ_j s_pj y_pj = 0.
    Positions are those of a cloud, so that they are read once for all of its points. Stacked
    models, second derivatives and parts are as in :class:`ByFactor`.
    """

    @staticmethod
    @_with_signature
    def forward(  # type: ignore[override]
        h: Tensor, W: Tensor, bias: Tensor, *geometry: Tensor
    ) -> tuple[Tensor, ...]:
        pulled = _pulled_by_pairs(h, W, bias, geometry)
        return _joined([y @ y.mT for y in pulled], -3), *pulled

    setup_context = ByFactor.setup_context

    @staticmethod
    @_backward
    def backward(ctx: Any, g: Tensor, *of_pulled: Any) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        h, W, bias, *geometry = ctx.saved_tensors
        geometry, pulled = geometry[: -len(of_pulled)], geometry[-len(of_pulled) :]
        if torch.is_grad_enabled():
            pulled = _pulled_by_pairs(h, W, bias, geometry)
        both = (g + g.mT).split([_clouds(y) for y in pulled], -3)
        back = []
        for x, s, y, mixing in zip(geometry[::3], geometry[1::3], pulled, both, strict=True):
            mixed = (mixing @ y).unflatten(-1, s.shape[-2:]).transpose(-3, -2)  # (..., B, n, l, N)
            back.append((_product(mixed, s.unsqueeze(-2)).flatten(-3, -2), x))
        Z = _pushed_by_pairs(back, g.shape[-1])
        return Z @ W, Z.mT @ h, Z.sum(-2), *[None] * len(geometry)

    vmap = staticmethod(lambda info, in_dims, *args: _stacked(ByPairs, info, in_dims, args))


class ByMetric(torch.autograd.Function):
    """Comparison through the weighted metric G, which has μ in it, with its own gradient.

    With Z = G F, cloud by cloud, and K = Σ_p Z(p) h(p)ᵀ, s = Σ_p Z(p):

        C_ab    = W_a · K_b + bias_a · s_b
        ∂W_a    = Σ_clouds Σ_b (g + gᵀ)_ab K_b            (∂bias with s for K)
        ∂h(p)   = Σ_ab (g + gᵀ)_ab W_aᵀ Z_b(p)

    The gradient of the linear map needs K anyway, so the comparison adds only one product with the
    geometry to the cost of the network. Stacked models, second derivatives and parts are as in
    :class:`ByFactor`. The degree is that of the forms on the space of G: 1 if G is that of all
    coefficients; k if it is that of features, and then Z = ΛᵏG F, and ΛᵏG has μ in it.
    """

    @staticmethod
    @_with_signature
    def forward(  # type: ignore[override]
        h: Tensor, W: Tensor, bias: Tensor, degree: int, *metrics: Tensor
    ) -> tuple[Tensor, ...]:
        l = W.shape[-2] // comb(metrics[0].shape[-2], degree)
        K, s, *Z = _products(h, W, bias, degree, metrics)
        *stack, B, _ = s.shape
        W, bias = W.reshape(*stack, l, -1), bias.view(*stack, l, -1)
        C = K.view(*stack, B * l, W.shape[-1]) @ W.mT
        C = C + s.view(*stack, B * l, bias.shape[-1]) @ bias.mT
        C = C.view(*stack, B, l, l)
        return 0.5 * (C + C.mT), K, s, *Z

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        *last, ctx.degree = inputs[:4]
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)  # no zeros for what is not differentiable
        ctx.save_for_backward(*last, *inputs[4:], *output[1:])

    @staticmethod
    @_backward
    def backward(ctx: Any, g: Tensor, *of_products: Any) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        h, W, bias, *metrics = ctx.saved_tensors
        metrics, products = metrics[: -len(of_products)], metrics[-len(of_products) :]
        if torch.is_grad_enabled():
            products = _products(h, W, bias, ctx.degree, metrics)
        K, s, *Z = products
        *stack, B, l, _l = g.shape
        both = g + g.mT
        each = both.reshape(*stack, B * l, l) @ W.reshape(*stack, l, -1)  # Σ_a (g + gᵀ)_ab W_a
        each = each.view(*stack, B, *W.shape[-2:])
        maps = each.split([_clouds(own) for own in Z], -3)
        grad_h = [(own @ A).flatten(-3, -2) for own, A in zip(Z, maps, strict=True)]
        sums = both.transpose(-3, -2).reshape(*stack, l, B * l)  # over clouds and forms at once
        width = s.shape[-1] // l
        grad_W = (sums @ K.view(*stack, B * l, width * W.shape[-1])).view(W.shape)
        grad_bias = (sums @ s.view(*stack, B * l, width)).flatten(-2)
        return _joined(grad_h, -2), grad_W, grad_bias, None, *[None] * len(metrics)

    vmap = staticmethod(lambda info, in_dims, *args: _stacked(ByMetric, info, in_dims, args))


class BySlots(torch.autograd.Function):
    """Comparison slot after slot, in blocks of points, with its own gradient.

    Through the factor, the formulas are those of :class:`ByFactor`. Through the metric G = V Vᵀ,
    y = ΛᵏG F are coefficients, which need not be pushed back, and C = Σ_p μ(p) F(p) y(p)ᵀ. Only y
    is kept for the backward pass; coefficients and their contractions exist for one block at a
    time. Stacked models take turns.
    """

    @staticmethod
    @_with_signature
    def forward(  # type: ignore[override]
        h: Tensor, W: Tensor, bias: Tensor, M: Tensor, mu: Tensor, degree: int, metric: bool
    ) -> tuple[Tensor, ...]:
        D, r = M.shape[-2:]
        l, in_bands = len(W) // comb(D, degree), slots.in_bands(W, bias, D, degree)
        # written block by block, so that memory between blocks is used again
        y, C = h.new_empty(mu.numel(), l, comb(r, degree)), h.new_empty(mu.numel(), l, l)
        blocks = slots.split_in_blocks(M, degree, len(W), h, mu)
        size = len(blocks[0][0])
        for (h_, mu_, M_), y_, C_ in zip(blocks, y.split(size), C.split(size), strict=True):
            F = slots.coefficients(h_, *in_bands)
            slots.pull(F, M_, degree, out=y_.flatten(1))
            other = slots.from_bands(F, D, degree, 1).view_as(y_) if metric else y_
            torch.bmm(other, y_.mT, out=C_).mul_(mu_[:, None, None])
        C = C.unflatten(0, h.shape[:2]).sum(1)
        return 0.5 * (C + C.mT), y

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        *tensors, ctx.degree, ctx.metric = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, *output[1:])

    @staticmethod
    @_backward
    def backward(ctx: Any, g: Tensor, _: Any) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        h, W, bias, M, mu, kept = ctx.saved_tensors
        D, degree, again = M.shape[-2], ctx.degree, torch.is_grad_enabled()
        in_bands = slots.in_bands(W, bias, D, degree)
        last, last_bias = (W, bias) if ctx.metric else in_bands
        mixing = (g + g.mT).unsqueeze(1) * mu[..., None, None]  # of each point: (B, n, l, l)
        # zeros of the gradient, which may be many at once
        grad_W, grad_bias = g.new_zeros(last.shape), g.new_zeros(last_bias.shape)
        grad_h, in_place = [], _may_write_in_place(g, h, W)
        blocks = slots.split_in_blocks(M, degree, len(W), h, mixing)
        for (h_, mixing_, M_), y in zip(blocks, kept.split(len(blocks[0][0])), strict=True):
            if again:
                y = slots.pull(slots.coefficients(h_, *in_bands), M_, degree).view_as(y)
            mixed = (mixing_ @ y).flatten(1)
            Z = mixed if ctx.metric else slots.push(mixed, M_, degree)
            grad_W = grad_W.addmm_(Z.mT, h_) if in_place else grad_W + Z.mT @ h_
            grad_bias = grad_bias + Z.sum(0)
            grad_h.append(Z @ last)
        if not ctx.metric:
            grad_W, grad_bias = (slots.from_bands(one, D, degree) for one in (grad_W, grad_bias))
        return torch.cat(grad_h).view_as(h), grad_W, grad_bias, None, None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *args: Any
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        each = [
            [
                arg if dim is None else arg.select(dim, i)
                for arg, dim in zip(args, in_dims, strict=True)
            ]
            for i in range(info.batch_size)
        ]
        found = zip(*(BySlots.apply(*one) for one in each), strict=True)  # type: ignore[no-untyped-call]
        stacked = tuple(torch.stack(tensors) for tensors in found)
        return stacked, (0,) * len(stacked)


def _stacked(
    function: type[torch.autograd.Function], info: Any, in_dims: tuple[int | None, ...], args: Any
) -> tuple[tuple[Tensor, ...], int]:
    """Apply a function to stacked models: the geometry, after the first three, may be shared."""
    shared = all(dim is None for dim in in_dims[3:])
    stacked = [
        arg
        if (shared and i >= 3) or not isinstance(arg, Tensor)
        else arg.expand(info.batch_size, *arg.shape)
        if dim is None
        else arg.movedim(dim, 0)
        for i, (arg, dim) in enumerate(zip(args, in_dims, strict=True))
    ]
    return function.apply(*stacked), 0  # type: ignore[no-untyped-call]


def _joined(parts: Sequence[Tensor], dim: int) -> Tensor:
    """Return parts one after the other; a single one as it is."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim)


def _clouds(values: Tensor) -> int:
    """Return the number of clouds of values (..., B, a, b)."""
    return values.shape[-3]


def _by_part(h: Tensor, W: Tensor, bias: Tensor, geometry: Sequence[Tensor]) -> list[Tensor]:
    """Return the coefficients F (..., B, n, l, C) of each part of points with some geometry."""
    F = (h @ W.mT).add_(bias.unsqueeze(-2)).unflatten(-1, (-1, geometry[0].shape[-2]))
    return split_points(F, [A.shape[-4:-2] for A in geometry], -3)


def _pulled(h: Tensor, W: Tensor, bias: Tensor, factors: Sequence[Tensor]) -> list[Tensor]:
    """Return the forms pulled back to the columns of V, by part and form: (..., B, l, n r)."""
    parts = zip(_by_part(h, W, bias, factors), factors, strict=True)
    return [_apply(F, V).transpose(-3, -2).flatten(-2) for F, V in parts]


def pulled_by_pairs(F: Tensor, x: Tensor, s: Tensor, q: Tensor) -> Tensor:
    """Return y_pj = s_pj F(p) · (x_j - Σ_i q_pi x_i) for coefficients F (..., B, n, l, D).

    The positions x are (..., B, N, D), scales s and weights q (..., B, n, N): (..., B, n, l, N).
    """
    return _centred(F, x, q).mul_(s.unsqueeze(-2))


def _centred(F: Tensor, x: Tensor, q: Tensor) -> Tensor:
    """Return F(p) · (x_j - Σ_i q_pi x_i), of the shape of :func:`pulled_by_pairs`."""
    T: Tensor = _apply(F.flatten(-3, -2), x.mT).unflatten(-2, F.shape[-3:-1])
    return T.sub_(_apply(T, q.unsqueeze(-1)))


def _pulled_by_pairs(
    h: Tensor, W: Tensor, bias: Tensor, geometry: Sequence[Tensor]
) -> list[Tensor]:
    """Return the forms pulled back to pairs of points, by part and form: (..., B, l, n N)."""
    positions, scales, weights = (geometry[i::3] for i in range(3))
    F = (h @ W.mT).add_(bias.unsqueeze(-2)).unflatten(-1, (-1, positions[0].shape[-1]))
    parts = split_points(F, [s.shape[-3:-1] for s in scales], -3)
    return [
        _product(_centred(F, x, q).transpose(-3, -2), s.unsqueeze(-3)).flatten(-2)
        for F, x, s, q in zip(parts, positions, scales, weights, strict=True)
    ]


def _pushed_by_pairs(parts: Sequence[tuple[Tensor, Tensor]], forms: int) -> Tensor:
    """Return the products A x (..., B, n l, D) of all parts, point after point: (..., P, l D)."""
    if parts[0][0].ndim > 3 or not _may_write_in_place(*chain.from_iterable(parts)):
        products = _joined([_apply(A, x).flatten(-3, -2) for A, x in parts], -2)
        Z: Tensor = products.unflatten(-2, (-1, forms)).flatten(-2)
        return Z
    x = parts[0][1]
    rows = [A.shape[:2].numel() for A, _ in parts]
    joined = x.new_empty(sum(rows), x.shape[-1])
    for (A, x), own in zip(parts, joined.split(rows), strict=True):
        torch.bmm(A, x, out=own.view(*A.shape[:2], x.shape[-1]))
    return joined.view(-1, forms * x.shape[-1])


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Return a · b, of the shape of a, as a contiguous tensor."""
    if not _may_write_in_place(a, b):
        return (a * b).contiguous()
    return torch.mul(a, b, out=a.new_empty(a.shape))


def _may_write_in_place(*tensors: Tensor) -> bool:
    """Return whether a product of tensors can be written to given memory.

    That is impossible where autograd, torch.compile or torch.vmap look on.
    """
    if torch.is_grad_enabled() or torch.compiler.is_compiling():
        return False
    return not any(map(is_functorch_wrapped_tensor, tensors))


def _weighted(pulled: Sequence[Tensor], measures: Sequence[Tensor]) -> list[Tensor]:
    """Return μ y for the pulled forms y (..., B, l, n r) of each part."""
    return [
        (y.unflatten(-1, (mu.shape[-1], -1)) * mu[..., None, :, None]).flatten(-2)
        for y, mu in zip(pulled, measures, strict=True)
    ]


def _products(
    h: Tensor, W: Tensor, bias: Tensor, degree: int, metrics: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Return K = Σ_p Z(p) h(p)ᵀ and s = Σ_p Z(p) of each cloud, and Z = ΛᵏG F (..., B, n, l C)."""
    read = split_points(h, [G.shape[-4:-2] for G in metrics])
    if degree == 1 and metrics[0].shape[-1] <= _FEW:
        Z = _by_entries(h, W, bias, metrics)
    elif degree == 1:
        parts = zip(_by_part(h, W, bias, metrics), metrics, strict=True)
        Z = [_apply(F, G).flatten(-2) for F, G in parts]
    else:
        parts = zip(read, metrics, strict=True)
        Z = [_raised(points, W, bias, G, degree) for points, G in parts]
    K = [own.mT @ points for own, points in zip(Z, read, strict=True)]
    return _joined(K, -3), _joined([own.sum(-2) for own in Z], -2), *Z


def _by_entries(h: Tensor, W: Tensor, bias: Tensor, metrics: Sequence[Tensor]) -> list[Tensor]:
    """Return Z = G F (..., B, n, l C) of each part; the points are adjacent in memory."""
    C = metrics[0].shape[-1]
    F = (W @ h.mT).add_(bias.unsqueeze(-1)).unflatten(-2, (-1, C))  # (..., l, C, P)
    parts = F.split([G.shape[-4:-2].numel() for G in metrics], -1)
    found = []
    for part, G in zip(parts, metrics, strict=True):
        entries = G.flatten(-4, -3).movedim(-3, -1).contiguous()
        columns = []
        for j in range(C):
            column = part[..., 0, :] * entries[..., None, 0, j, :]
            for i in range(1, C):
                column.addcmul_(part[..., i, :], entries[..., None, i, j, :])
            columns.append(column)
        Z = torch.stack(columns, -2).flatten(-3, -2)
        found.append(Z.mT.unflatten(-2, G.shape[-4:-2]))
    return found


def _raised(h: Tensor, W: Tensor, bias: Tensor, G: Tensor, degree: int) -> Tensor:
    """Return Z = ΛᵏG F (..., B, n, l C), model after model."""
    if W.ndim == 2:
        return slots.raised(h, W, bias, G, degree)
    metrics = G if G.ndim > 4 else [G] * len(W)
    models = zip(h, W, bias, metrics, strict=True)
    return torch.stack([_raised(*model, degree) for model in models])


def _apply(F: Tensor, A: Tensor) -> Tensor:
    """Return F A for numbers F (..., B, n, l, c) of forms and a matrix A (..., B, n, c, d).

    Both may lack n, for matrices that belong to whole clouds.
    """
    if A.ndim == F.ndim:
        return F @ A
    forms = F.movedim(0, -3).flatten(-3, -2)  # one product for all stacked models: (B, n, E l, c)
    by_model: Tensor = (forms @ A).unflatten(-2, (len(F), -1))
    return by_model.movedim(-3, 0)

"""Comparison of forms of degree two and more, one of their slots after the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from pointforms.exterior import compound

# Fewest and most points in a block, which has about as many coefficients as stay in the processor's
# cache, and never more than it may hold.
_POINTS, _CACHED, _HELD = (64, 256), 1 << 18, 1 << 20
# Bands into which coefficients are laid out: more waste less, and are smaller products.
_BANDS = 10


def compare_by_slots(
    hidden: Tensor, weight: Tensor, bias: Tensor, factor: Tensor, weights: Tensor, degree: int
) -> Tensor:
    """Compare forms of a degree k ≥ 2 through the Gram factor V, without its k-th compound.

    Arguments and result are those of :func:`pointforms.nn.comparison.compare`, except for the
    factor, which is V (B, n, D, r) itself. Forms are pulled back by a matrix M with D rows, the
    first slot by M and the others by its compound of degree k - 1:

        T_aB = Σ_i M_ia Σ_J F_iJ (Λᵏ⁻¹M)_JB        with F_iJ the coefficient of dx^i ∧ dx^J, i < J
        y_A  = Σ_t (-1)^t T_{a_t, A without a_t}

    With M = V, these are the values y of the forms on the columns of V, which the gradient pushes
    back to coefficients Z = ΛᵏG F. With M = G = V Vᵀ, they are Z in one step, which is cheaper if
    the rank is high:

        C = Σ_p μ(p) y(p) y(p)ᵀ = Σ_p μ(p) F(p) Z(p)ᵀ
    """
    D, r = factor.shape[-2:]
    if r < degree:  # more slots than directions: directions of length zero fill them
        factor = pad(factor, (0, degree - r))
    passes = 2 if torch.is_grad_enabled() else 1  # to the columns of V, and back for a gradient
    metric = _products(D, D, degree) < passes * _products(D, r, degree)
    matrix = factor @ factor.mT if metric else factor
    # laid out as the products want them, once for all points; zeros fill gaps
    order = torch.from_numpy(_layout(D, degree)).to(weight.device)
    every = comb(D, degree) * torch.arange(len(weight) // comb(D, degree), device=weight.device)
    place = (every[:, None] + order.clamp_min(0)).flatten()
    exists = (order >= 0).to(weight).repeat(len(every))
    weight = weight.index_select(0, place).mul_(exists[:, None])
    bias = bias.index_select(0, place).mul_(exists)
    return _BySlots.apply(hidden, weight, bias, matrix, weights, degree, metric)[0]  # type: ignore[no-any-return, no-untyped-call]


def _products(D: int, r: int, k: int) -> int:
    """Return the number of multiplications that pull a form back to r directions."""
    return comb(r, k - 1) * (comb(D, k) + r * (D - k + 1))


class _BySlots(torch.autograd.Function):
    """Comparison of forms that are a linear map of hidden features, with its own gradient.

    With Z = ΛᵏG F, which is y pushed back to coefficients, and Z' = (g + gᵀ) μ Z, cloud by cloud:

        ∂W = Σ_p Z'(p) h(p)ᵀ,    ∂bias = Σ_p Z'(p),    ∂h(p) = Wᵀ Z'(p)

    Only y or Z is kept for the backward pass, in blocks of points. The other tensors exist for one
    block at a time. Where there is no coefficient, W and bias are 0, and what Z has there counts
    for nothing.
    """

    @staticmethod
    def forward(  # type: ignore[override]
        h: Tensor, W: Tensor, bias: Tensor, M: Tensor, mu: Tensor, degree: int, metric: bool
    ) -> tuple[Tensor, ...]:
        found, kept = [], []
        for h_, M_, mu_ in _blocks(W, M, degree, h, mu.unsqueeze(-1)):
            F = _coefficients(h_, W, bias, M_, degree)
            y = _pull(F, M_, degree, metric)
            found.append(((F if metric else y) @ y.mT).mul_(mu_.unsqueeze(-1)))
            kept.append(y)
        C = torch.cat(found).unflatten(0, h.shape[:2]).sum(1)
        return (0.5 * (C + C.mT), *kept)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        *tensors, ctx.degree, ctx.metric = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*tensors, *output[1:])

    @staticmethod
    def backward(ctx: Any, g: Tensor, *_: Any) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        h, W, bias, M, mu, *kept = ctx.saved_tensors
        again = torch.is_grad_enabled()  # what was kept is a constant to autograd
        mixing = (g + g.mT).unsqueeze(1) * mu[..., None, None]  # of each point: (B, n, l, l)
        grad_W, grad_bias, grad_h = torch.zeros_like(W), torch.zeros_like(bias), []
        blocks = _blocks(W, M, ctx.degree, h, mixing)
        for (h_, M_, mixing_), y in zip(blocks, kept, strict=True):
            if again:
                F = _coefficients(h_, W, bias, M_, ctx.degree)
                y = _pull(F, M_, ctx.degree, ctx.metric)
            mixed = mixing_.view(len(y), *g.shape[-2:]) @ y
            Z = (mixed if ctx.metric else _push(mixed, M_, ctx.degree)).flatten(1)
            grad_W = grad_W.addmm_(Z.mT, h_)
            grad_bias = grad_bias.add_(Z.sum(0))
            grad_h.append(Z @ W)
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
        found = zip(*(_BySlots.apply(*one) for one in each), strict=True)  # type: ignore[no-untyped-call]
        stacked = tuple(torch.stack(tensors) for tensors in found)
        return stacked, (0,) * len(stacked)


def _blocks(
    W: Tensor, M: Tensor, degree: int, h: Tensor, other: Tensor
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Split points into blocks: hidden features, matrices, and other numbers of each point."""
    D, r = M.shape[-2:]
    size = min(max(_CACHED // len(W), _POINTS[0]), _POINTS[1])
    size = max(1, min(size, _HELD // max(len(W), comb(D, degree - 1) * comb(r, degree - 1))))
    flat = h.flatten(0, 1)
    blocks = (
        flat.split(size),
        M.flatten(0, 1).split(size),
        other.reshape(len(flat), -1).split(size),
    )
    return zip(*blocks, strict=True)


def _coefficients(h: Tensor, W: Tensor, bias: Tensor, M: Tensor, degree: int) -> Tensor:
    """Return the coefficients (P, l, C) of the forms at the points of a block, as laid out."""
    width = len(_layout(M.shape[-2], degree))
    return torch.addmm(bias, h, W.mT).view(len(h), -1, width)


def _pull(F: Tensor, M: Tensor, degree: int, laid_out: bool) -> Tensor:
    """Pull coefficients F (P, l, C) back by M (P, D, r): (P, l, C(r, k)), or laid out like F."""
    (points, l, _), (D, r) = F.shape, M.shape[-2:]
    L = compound(M[:, 1:], degree - 1)  # no J has the first index
    bands = _bands(D, degree)
    parts = F.split([height * width for _, height, width in bands], -1)
    filled = [
        (part.reshape(points, l * height, width) @ L[:, -width:])
        .view(points, l, height, -1)
        .transpose(1, 2)
        for part, (_, height, width) in zip(parts, bands, strict=True)
    ]
    T = (M[:, : D - degree + 1].mT @ torch.cat(filled, 1).flatten(2)).flatten(1)
    taken = _slots(r, degree, l, laid_out)
    y, *terms = (T.index_select(1, torch.from_numpy(places).to(T.device)) for places in taken)
    for t, term in enumerate(terms):
        y = y.add_(term, alpha=-1 if t % 2 == 0 else 1)
    return y.view(points, l, -1)


def _push(y: Tensor, V: Tensor, degree: int) -> Tensor:
    """Apply the transpose of :func:`_pull`: from (P, l, C(r, k)) to coefficients, as laid out."""
    (points, l, _), (D, r) = y.shape, V.shape[-2:]
    L = compound(V[:, 1:], degree - 1)
    back, sign = (torch.from_numpy(table).to(y.device) for table in _way_back(r, degree, l))
    T = y.flatten(1).index_select(1, back).mul_(sign.to(y))
    filled = (V[:, : D - degree + 1] @ T.view(points, r, -1)).unflatten(-1, (l, -1))
    parts = [
        (
            filled[:, start : start + height].transpose(1, 2).reshape(points, l * height, -1)
            @ L[:, -width:].mT
        ).view(points, l, -1)
        for start, height, width in _bands(D, degree)
    ]
    return torch.cat(parts, -1)


class _Band(NamedTuple):
    """Coefficients F_iJ of `height` first indices i from `start`, and all J above `start`.

    In lexicographic order, these `width` others J are the last ones. Of the coefficients in this
    rectangle, those with an index of J up to i do not exist.
    """

    start: int
    height: int
    width: int


@lru_cache(maxsize=64)
def _bands(D: int, k: int) -> tuple[_Band, ...]:
    """Return the bands of all first indices, from 0 to D - k."""
    first = D - k + 1
    height = -(-first // min(_BANDS, first))
    return tuple(
        _Band(start, min(height, first - start), comb(D - start - 1, k - 1))
        for start in range(0, first, height)
    )


@lru_cache(maxsize=64)
def _layout(D: int, k: int) -> np.ndarray:
    """Return which coefficient of a form is where: band by band, by i and J; -1 stands for none."""
    rank = {I: place for place, I in enumerate(combinations(range(D), k))}
    return np.array(
        [
            rank.get((i, *J), -1)
            for start, height, _ in _bands(D, k)
            for i in range(start, start + height)
            for J in combinations(range(start + 1, D), k - 1)
        ]
    )


@lru_cache(maxsize=64)
def _slots(r: int, k: int, l: int, laid_out: bool) -> list[np.ndarray]:
    """Return the places of T_{a_t, A without a_t} in T (r, l, C(r, k - 1)) for each t.

    A runs through all that there are, or through those of a layout, where -1 may be any.
    """
    indices = np.array(list(combinations(range(r), k)))
    if laid_out:
        indices = indices[_layout(r, k)]
    rest = {B: place for place, B in enumerate(combinations(range(r), k - 1))}
    taken = []
    for t in range(k):
        others = np.array([rest[tuple(A)] for A in np.delete(indices, t, 1).tolist()])
        rows = indices[:, t] * l + np.arange(l)[:, None]
        taken.append((rows * len(rest) + others).flatten())
    return taken


@lru_cache(maxsize=64)
def _way_back(r: int, k: int, l: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places in y (l, C(r, k)) of all entries of T, and their signs: 0 if a is in B."""
    taken = _slots(r, k, l, False)
    back = np.zeros(r * l * comb(r, k - 1), np.int64)
    sign = np.zeros(len(back), np.int8)
    for t, places in enumerate(taken):
        back[places], sign[places] = np.arange(len(places)), (-1) ** t
    return back, sign

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

# Points in a block, and most of its coefficients, so that they stay in the processor's cache.
_POINTS, _HELD = 64, 1 << 20
# Bands into which coefficients are laid out: more waste less, and are smaller products.
_BANDS = 5


def compare_by_slots(
    hidden: Tensor, weight: Tensor, bias: Tensor, factor: Tensor, weights: Tensor, degree: int
) -> Tensor:
    """Compare forms of a degree k ≥ 2 through the Gram factor V, without its k-th compound.

    Arguments and result are those of :func:`pointforms.nn.comparison.compare`, except for the
    factor, which is V (B, n, D, r) itself. Forms are pulled back to the
    r columns of V, the first slot by V and the others by its compound of degree k - 1:

        T_aB = Σ_i V_ia Σ_J F_iJ (Λᵏ⁻¹V)_JB        with F_iJ the coefficient of dx^i ∧ dx^J, i < J
        y_A  = Σ_t (-1)^t T_{a_t, A without a_t}
        C    = Σ_p μ(p) y(p) y(p)ᵀ
    """
    D, r = factor.shape[-2:]
    if r < degree:  # more slots than directions: directions of length zero fill them
        factor = pad(factor, (0, degree - r))
    forms = weight.shape[-2] // comb(D, degree)
    # laid out as the products want them, once for all points; zeros fill gaps
    place = torch.from_numpy(_layout(D, degree, forms)).to(weight.device)
    exists = place < len(weight)
    place, kept = place * exists, exists.to(weight)
    weight = weight.index_select(0, place).mul_(kept[:, None])
    bias = bias.index_select(0, place).mul_(kept)
    return _BySlots.apply(hidden, weight, bias, factor, weights, degree, forms)[0]  # type: ignore[no-any-return, no-untyped-call]


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
def _layout(D: int, k: int, l: int) -> np.ndarray:
    """Return which coefficient of l forms is where: band by band, by i, form and J.

    Coefficients are counted form by form; the number after the last stands for none.
    """
    rank = {I: place for place, I in enumerate(combinations(range(D), k))}
    places = []
    for start, height, _ in _bands(D, k):
        for i in range(start, start + height):
            others = combinations(range(start + 1, D), k - 1)
            row = np.array([rank.get((i, *J), -1) for J in others])
            forms = len(rank) * np.arange(l)[:, None]
            places.append(np.where(row < 0, l * len(rank), row + forms).flatten())
    return np.concatenate(places)


@lru_cache(maxsize=64)
def _slots(r: int, k: int, l: int) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return the places of T_{a_t, A without a_t} in T for each t, and the way back.

    T has the shape (r, l, C(r, k - 1)), and y the shape (C(r, k), l). The way back are the places
    in y of all entries of T, and their signs, which are 0 where a is in B.
    """
    rank = {A: place for place, A in enumerate(combinations(range(r), k))}
    rest = {B: place for place, B in enumerate(combinations(range(r), k - 1))}
    form = np.arange(l)
    taken = [np.empty((len(rank), l), np.int64) for _ in range(k)]
    back = np.zeros((r, l, len(rest)), np.int64)
    sign = np.zeros((r, l, len(rest)), np.int8)
    for A, place in rank.items():
        for t, a in enumerate(A):
            B = rest[A[:t] + A[t + 1 :]]
            taken[t][place] = (a * l + form) * len(rest) + B
            back[a, :, B] = place * l + form
            sign[a, :, B] = (-1) ** t
    return [places.flatten() for places in taken], back.flatten(), sign.flatten()


class _BySlots(torch.autograd.Function):
    """Comparison of forms that are a linear map of hidden features, with its own gradient.

    With y' = (g + gᵀ) y, cloud by cloud, and Z = μ y' pushed back to coefficients:

        ∂W = Σ_p Z(p) h(p)ᵀ,    ∂bias = Σ_p Z(p),    ∂h(p) = Wᵀ Z(p)

    Only y is kept for the backward pass. The coefficients, of which there are many more, exist for
    one block of points at a time.
    """

    @staticmethod
    def forward(  # type: ignore[override]
        h: Tensor, W: Tensor, bias: Tensor, V: Tensor, mu: Tensor, degree: int, forms: int
    ) -> tuple[Tensor, Tensor]:
        y = _pulled(h, W, bias, V, degree, forms)
        return y.mT @ (y * _of_entries(mu, y)), y

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        *tensors, ctx.degree, ctx.forms = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*tensors, output[1])

    @staticmethod
    def backward(ctx: Any, g: Tensor, *_: Any) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        h, W, bias, V, mu, y = ctx.saved_tensors
        if torch.is_grad_enabled():  # y of the forward pass is a constant to autograd
            y = _pulled(h, W, bias, V, ctx.degree, ctx.forms)
        mixed = (y @ (g + g.mT)) * _of_entries(mu, y)
        grad_W, grad_bias, grad_h = torch.zeros_like(W), torch.zeros_like(bias), []
        for h_, V_, y_ in _blocks(W, V, ctx.degree, h, mixed):
            Z = _push(y_, V_, ctx.degree, ctx.forms)
            grad_W = grad_W.addmm_(Z.mT, h_)
            grad_bias = grad_bias.add_(Z.sum(0))
            grad_h.append(Z @ W)
        return torch.cat(grad_h).view_as(h), grad_W, grad_bias, None, None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *args: Any
    ) -> tuple[tuple[Tensor, ...], tuple[int, int]]:
        each = [
            [
                arg if dim is None else arg.select(dim, i)
                for arg, dim in zip(args, in_dims, strict=True)
            ]
            for i in range(info.batch_size)
        ]
        found = zip(*(_BySlots.apply(*one) for one in each), strict=True)  # type: ignore[no-untyped-call]
        C, y = (torch.stack(tensors) for tensors in found)
        return (C, y), (0, 0)


def _of_entries(mu: Tensor, y: Tensor) -> Tensor:
    """Return the weights (B, n c, 1) of the entries of pulled forms y (B, n c, l)."""
    return mu.repeat_interleave(y.shape[-2] // mu.shape[-1], -1).unsqueeze(-1)


def _pulled(h: Tensor, W: Tensor, bias: Tensor, V: Tensor, degree: int, forms: int) -> Tensor:
    """Return the forms pulled back to the columns of V: (B, n C(r, k), l)."""
    y = [
        _pull(torch.addmm(bias, h_, W.mT), V_, degree, forms)
        for h_, V_, _ in _blocks(W, V, degree, h, h)
    ]
    return torch.cat(y).view(len(h), -1, forms)


def _blocks(
    W: Tensor, V: Tensor, degree: int, h: Tensor, other: Tensor
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Split points into blocks: hidden features, factors, and other numbers of each point."""
    D, r = V.shape[-2:]
    size = max(1, min(_POINTS, _HELD // max(len(W), comb(D, degree - 1) * comb(r, degree - 1))))
    flat = h.flatten(0, 1)
    blocks = (
        flat.split(size),
        V.flatten(0, 1).split(size),
        other.reshape(len(flat), -1).split(size),
    )
    return zip(*blocks, strict=True)


def _pull(F: Tensor, V: Tensor, degree: int, forms: int) -> Tensor:
    """Pull coefficients F (P, ...) in the layout of bands back: (P, C(r, k) l)."""
    points, D, r = V.shape
    L = compound(V, degree - 1)
    bands = _bands(D, degree)
    slices = F.split([forms * band.height * band.width for band in bands], -1)
    filled = [
        (part.reshape(points, -1, band.width) @ L[:, -band.width :]).view(points, band.height, -1)
        for part, band in zip(slices, bands, strict=True)
    ]
    T = (V[:, : D - degree + 1].mT @ torch.cat(filled, 1)).flatten(1)
    taken, _, _ = _slots(r, degree, forms)
    picked = [T.index_select(1, torch.from_numpy(places).to(T.device)) for places in taken]
    return sum(picked[2::2], picked[0]) - sum(picked[3::2], picked[1])


def _push(y: Tensor, V: Tensor, degree: int, forms: int) -> Tensor:
    """Apply the transpose of :func:`_pull`."""
    points, D, r = V.shape
    L = compound(V, degree - 1)
    _, back, sign = _slots(r, degree, forms)
    T = y.index_select(1, torch.from_numpy(back).to(y.device)) * torch.from_numpy(sign).to(y)
    filled = V[:, : D - degree + 1] @ T.view(points, r, -1)
    parts = [
        (
            filled[:, start : start + height].reshape(points, height * forms, -1) @ L[:, -width:].mT
        ).flatten(1)
        for start, height, width in _bands(D, degree)
    ]
    return torch.cat(parts, 1)

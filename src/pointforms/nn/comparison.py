"""Comparison matrices of learned forms on a batch of clouds, by the cheapest of several routes."""

from __future__ import annotations

from itertools import permutations
from math import prod
from typing import Any

import torch
from torch import Tensor

# A determinant is summed over all permutations of up to this many slots: 4! = 24.
_MAX_WEDGE_DEGREE = 4


def compare(
    hidden: Tensor, weight: Tensor, bias: Tensor, factor: Tensor, weights: Tensor
) -> Tensor:
    """Compare forms through the compound factor: C_ab = Σ_p μ(p) (F_a ΛᵏV)(p) · (F_b ΛᵏV)(p).

    The coefficients are F = hidden weightᵀ + bias. The result can be differentiated with respect to
    hidden, weight and bias, as often as needed; the geometry is fixed.

    Parameters
    ----------
    hidden : Tensor, shape (B, n, H)
        Input of the last linear map of a coefficient network.
    weight : Tensor, shape (l C, H)
        Weight of that map; the C coefficients of one form are adjacent.
    bias : Tensor, shape (l C,)
        Its bias.
    factor : Tensor, shape (B, n, C, c)
        ΛᵏV, the compound of the Gram factor: V itself for k = 1.
    weights : Tensor, shape (B, n)
        The measure μ; zero on padding.

    Returns
    -------
    Tensor, shape (B, l, l)
        Symmetric and positive semidefinite.
    """
    return _ByFactor.apply(hidden, weight, bias, factor, weights)[0]  # type: ignore[no-any-return, no-untyped-call]


def compare_by_metric(hidden: Tensor, weight: Tensor, bias: Tensor, metric: Tensor) -> Tensor:
    """Compare forms through the weighted k-th Gram matrices, metric (B, n, C, C) = μ ΛᵏV ΛᵏVᵀ.

    The result equals that of :func:`compare`. One wide product replaces two narrow ones, which is
    cheaper if the factor is more than half as wide as it is high.
    """
    return _ByMetric.apply(hidden, weight, bias, metric)[0]  # type: ignore[no-any-return, no-untyped-call]


def compare_coefficients(F: Tensor, geometry: Tensor, weights: Tensor | None) -> Tensor:
    """Compare forms given by their coefficients F (B, n, l, C).

    The result equals that of :func:`compare` for a factor and weights, and that of
    :func:`compare_by_metric` for a metric, which has the weights in it, and None.
    """
    pulled = F @ geometry
    if weights is None:
        C = torch.einsum("bnxc,bnyc->bxy", pulled, F)
        return 0.5 * (C + C.mT)
    return torch.einsum("bnxc,bnyc->bxy", pulled * weights[..., None, None], pulled)


def compare_pulled(pulled: Tensor, weights: Tensor) -> Tensor:
    """Compare forms already contracted with the factor, Y (B, n, l, c): C = Σ_p μ(p) Y(p) Y(p)ᵀ."""
    return torch.einsum("bn,bnxy->bxy", weights, pulled @ pulled.mT)


class _ByFactor(torch.autograd.Function):
    """Comparison through a factor V, with its own gradient.

    With y = F V, and y' = (g + gᵀ) μ y, cloud by cloud, pushed back to Z = y' Vᵀ:

        C  = Σ_p μ(p) y(p) y(p)ᵀ
        ∂W = Σ_p Z(p) h(p)ᵀ,    ∂bias = Σ_p Z(p),    ∂h(p) = Wᵀ Z(p)

    Only y is kept for the backward pass, not the coefficients. It is a constant to autograd: a
    backward pass that is itself differentiated (create_graph=True) computes it again. All tensors
    may have one more leading dimension, for stacked models, which V and μ lack where the models
    share their clouds.
    """

    @staticmethod
    def forward(  # type: ignore[override]
        h: Tensor, W: Tensor, bias: Tensor, V: Tensor, mu: Tensor
    ) -> tuple[Tensor, Tensor]:
        y = _pulled(h, W, bias, V)
        return (y * _of_entries(mu, y)) @ y.mT, y

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs, output[1])

    @staticmethod
    def backward(ctx: Any, g: Tensor, *_: Any) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        h, W, bias, V, mu, y = ctx.saved_tensors
        if torch.is_grad_enabled():
            y = _pulled(h, W, bias, V)
        mixed = (g + g.mT) @ (y * _of_entries(mu, y))
        of_points = mixed.unflatten(-1, (h.shape[-2], -1)).transpose(-3, -2)  # (..., B, n, l, r)
        Z = _apply(of_points, V.mT).flatten(-4, -3).flatten(-2)
        grad_h = (Z @ W).view(h.shape)
        return grad_h, Z.mT @ h.flatten(-3, -2), Z.sum(-2), None, None

    vmap = staticmethod(lambda info, in_dims, *args: _stacked(_ByFactor, info, in_dims, args))


class _ByMetric(torch.autograd.Function):
    """Comparison through the weighted metric G, which has μ in it, with its own gradient.

    With Z = G F, cloud by cloud, and K = Σ_p Z(p) h(p)ᵀ, s = Σ_p Z(p):

        C_ab    = W_a · K_b + bias_a · s_b
        ∂W_a    = Σ_clouds Σ_b (g + gᵀ)_ab K_b            (∂bias with s for K)
        ∂h(p)   = Σ_ab (g + gᵀ)_ab W_aᵀ Z_b(p)

    The gradient of the linear map needs K anyway, so the comparison adds only one product with the
    geometry to the cost of the network, and no tensor is transposed between points and forms.
    Stacked models and second derivatives are as in :class:`_ByFactor`.
    """

    @staticmethod
    def forward(  # type: ignore[override]
        h: Tensor, W: Tensor, bias: Tensor, G: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        *stack, B, _, _ = h.shape
        l = W.shape[-2] // G.shape[-2]
        Z, K, s = _products(h, W, bias, G)
        C = K.view(*stack, B * l, -1) @ W.reshape(*stack, l, -1).mT
        C = C + s.view(*stack, B * l, -1) @ bias.view(*stack, l, -1).mT
        C = C.view(*stack, B, l, l)
        return 0.5 * (C + C.mT), Z, K, s

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor, Tensor]
    ) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*inputs, *output[1:])

    @staticmethod
    def backward(ctx: Any, g: Tensor, *_: Any) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        h, W, bias, G, Z, K, s = ctx.saved_tensors
        if torch.is_grad_enabled():
            Z, K, s = _products(h, W, bias, G)
        *stack, B, l, _l = g.shape
        both = g + g.mT
        each = both.reshape(*stack, B * l, l) @ W.reshape(*stack, l, -1)  # Σ_a (g + gᵀ)_ab W_a
        grad_h = Z @ each.view(*stack, B, *W.shape[-2:])
        sums = both.transpose(-3, -2).reshape(*stack, l, B * l)  # over clouds and forms at once
        grad_W = (sums @ K.view(*stack, B * l, -1)).view(W.shape)
        grad_bias = (sums @ s.view(*stack, B * l, -1)).flatten(-2)
        return grad_h, grad_W, grad_bias, None

    vmap = staticmethod(lambda info, in_dims, *args: _stacked(_ByMetric, info, in_dims, args))


def _stacked(
    function: type[torch.autograd.Function], info: Any, in_dims: tuple[int | None, ...], args: Any
) -> tuple[tuple[Tensor, ...], int]:
    """Apply a function to stacked models: the geometry, after the first three, may be shared."""
    shared = all(dim is None for dim in in_dims[3:])
    stacked = [
        arg
        if shared and i >= 3
        else arg.expand(info.batch_size, *arg.shape)
        if dim is None
        else arg.movedim(dim, 0)
        for i, (arg, dim) in enumerate(zip(args, in_dims, strict=True))
    ]
    return function.apply(*stacked), 0  # type: ignore[no-untyped-call]


def _coefficients(h: Tensor, W: Tensor, bias: Tensor, count: int) -> Tensor:
    """Return F (..., B, n, l, C) for `count` coefficients C of a form."""
    F = (h.flatten(-3, -2) @ W.mT).add_(bias.unsqueeze(-2))
    return F.view(*h.shape[:-1], -1, count)


def _pulled(h: Tensor, W: Tensor, bias: Tensor, V: Tensor) -> Tensor:
    """Return the forms pulled back to the columns of V, by form: (..., B, l, n r)."""
    y: Tensor = _apply(_coefficients(h, W, bias, V.shape[-2]), V)
    return y.transpose(-3, -2).flatten(-2)


def _of_entries(mu: Tensor, y: Tensor) -> Tensor:
    """Return the weights of the entries of pulled forms y (..., B, l, n r)."""
    return mu.repeat_interleave(y.shape[-1] // mu.shape[-1], -1).unsqueeze(-2)


def _products(h: Tensor, W: Tensor, bias: Tensor, G: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return Z = G F (..., B, n, l C), K = Σ_p Z(p) h(p)ᵀ and s = Σ_p Z(p) of each cloud."""
    Z = _apply(_coefficients(h, W, bias, G.shape[-2]), G).flatten(-2)
    return Z, Z.mT @ h, Z.sum(-2)


def _apply(F: Tensor, A: Tensor) -> Tensor:
    """Return F A for numbers F (..., B, n, l, c) of forms and a matrix A (..., B, n, c, d)."""
    if A.ndim == F.ndim:
        return F @ A
    forms = F.movedim(0, -3).flatten(-3, -2)  # one product for all stacked models: (B, n, E l, c)
    by_model: Tensor = (forms @ A).unflatten(-2, (len(F), -1))
    return by_model.movedim(-3, 0)


def compare_wedges(
    one_forms: Tensor, factor: Tensor, weights: Tensor, forms: int, degree: int
) -> Tensor:
    """Compare sums of products of 1-forms, at a cost without any C(D, k).

    ⟨α_1 ∧ ... ∧ α_k, β_1 ∧ ... ∧ β_k⟩ = det[(Vᵀα_a) · (Vᵀβ_b)]

    Parameters
    ----------
    one_forms : Tensor, shape (B, n, l R k, D)
        The 1-forms, R products of k per form.
    factor : Tensor, shape (B, n, D, r)
        The Gram factor V.
    weights : Tensor, shape (B, n)
        The measure μ; zero on padding.
    forms : int
        Number of forms, l.
    degree : int
        Degree of the forms, k.

    Returns
    -------
    Tensor, shape (B, l, l)
        Symmetric and positive semidefinite.
    """
    if degree > _MAX_WEDGE_DEGREE:
        raise ValueError(f"degree={degree}: wedge coefficients expect at most {_MAX_WEDGE_DEGREE}")
    A = one_forms @ factor  # (B, n, l R k, r)
    M = (A @ A.mT).unflatten(-1, (-1, degree)).unflatten(-3, (-1, degree))  # (B, n, lR, k, lR, k)
    det = torch.zeros_like(M[..., 0, :, 0])
    for sigma in permutations(range(degree)):
        sign = prod(
            -1 if sigma[i] > sigma[j] else 1 for i in range(degree) for j in range(i + 1, degree)
        )
        term = M[..., 0, :, sigma[0]]
        for a in range(1, degree):
            term = term * M[..., a, :, sigma[a]]
        det = det + sign * term
    per_cloud = torch.einsum("bn,bnij->bij", weights, det)
    per_form: Tensor = per_cloud.unflatten(-1, (forms, -1)).sum(-1)
    C: Tensor = per_form.unflatten(-2, (forms, -1)).sum(-2)
    return C

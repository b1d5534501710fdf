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
    return _Compare.apply(hidden, weight, bias, factor, weights)[0]  # type: ignore[no-any-return, no-untyped-call]


def compare_by_metric(hidden: Tensor, weight: Tensor, bias: Tensor, metric: Tensor) -> Tensor:
    """Compare forms through the weighted k-th Gram matrices, metric (B, n, C, C) = μ ΛᵏV ΛᵏVᵀ.

    The result equals that of :func:`compare`. One wide product replaces two narrow ones, which is
    cheaper if the factor is more than half as wide as it is high.
    """
    return _Compare.apply(hidden, weight, bias, metric, None)[0]  # type: ignore[no-any-return, no-untyped-call]


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


class _Compare(torch.autograd.Function):
    """Comparison of forms that are a linear map W of hidden features h, with its own gradient.

    With Z = μ G F, cloud by cloud, and K = Σ_p Z(p) h(p)ᵀ, s = Σ_p Z(p):

        C_ab    = W_a · K_b + bias_a · s_b
        ∂W_a    = Σ_clouds Σ_b (g + gᵀ)_ab K_b            (∂bias with s for K)
        ∂h(p)   = Σ_ab (g + gᵀ)_ab W_aᵀ Z_b(p)

    The gradient of the linear map needs K anyway, so the comparison adds only one product with the
    geometry to the cost of the network, and no tensor is transposed between points and forms. All
    tensors may have one more leading dimension, for stacked models, which V and μ lack where the
    models share their clouds.

    Z, K and s of the forward pass are constants to autograd. A backward pass that is itself
    differentiated (create_graph=True) therefore computes them again from h, W and bias.
    """

    @staticmethod
    def forward(  # type: ignore[override]
        h: Tensor, W: Tensor, bias: Tensor, V: Tensor, mu: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        *stack, B, _, _ = h.shape
        l = W.shape[-2] // V.shape[-2]
        F = (h.flatten(-3, -2) @ W.mT).add_(bias.unsqueeze(-2))
        Z, K, s = _products(F, h, V, mu)
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
        h, W, bias, V, mu, Z, K, s = ctx.saved_tensors
        if torch.is_grad_enabled():
            F = h.flatten(-3, -2) @ W.mT + bias.unsqueeze(-2)
            Z, K, s = _products(F, h, V, mu)
        *stack, B, l, _l = g.shape
        both = g + g.mT
        each = both.reshape(*stack, B * l, l) @ W.reshape(*stack, l, -1)  # Σ_a (g + gᵀ)_ab W_a
        grad_h = Z @ each.view(*stack, B, *W.shape[-2:])
        sums = both.transpose(-3, -2).reshape(*stack, l, B * l)  # over clouds and forms at once
        grad_W = (sums @ K.view(*stack, B * l, -1)).view(W.shape)
        grad_bias = (sums @ s.view(*stack, B * l, -1)).flatten(-2)
        return grad_h, grad_W, grad_bias, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *args: Any
    ) -> tuple[tuple[Tensor, ...], int]:
        shared = in_dims[3] is None and in_dims[4] is None
        stacked = [
            arg
            if arg is None or (shared and i >= 3)
            else arg.expand(info.batch_size, *arg.shape)
            if dim is None
            else arg.movedim(dim, 0)
            for i, (arg, dim) in enumerate(zip(args, in_dims, strict=True))
        ]
        return _Compare.apply(*stacked), 0  # type: ignore[no-untyped-call]


def _products(F: Tensor, h: Tensor, V: Tensor, mu: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return Z = μ G F (..., B, n, l C), K = Σ_p Z(p) h(p)ᵀ and s = Σ_p Z(p) of each cloud."""
    F = F.view(*h.shape[:-1], -1, V.shape[-2])
    if V.ndim == h.ndim:  # stacked models on one geometry, which one product applies to all forms
        forms = F.movedim(0, -3).flatten(-3, -2)  # (B, n, E l, C)
        Z = _paired(forms, V, mu).unflatten(-2, (len(F), -1)).movedim(-3, 0)
    else:
        Z = _paired(F, V, mu)
    Z = Z.flatten(-2)
    return Z, Z.mT @ h, Z.sum(-2)


def _paired(F: Tensor, V: Tensor, mu: Tensor | None) -> Tensor:
    """Return μ G F for coefficients F (..., l, C)."""
    return F @ V if mu is None else (F @ V * mu[..., None, None]) @ V.mT


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

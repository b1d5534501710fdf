"""The comparison matrix of learned forms on a batch of clouds."""

from __future__ import annotations

from itertools import permutations
from math import prod
from typing import Any

import torch
from torch import Tensor

# Columns of a factor from which pulled forms are compared point by point.
_WIDE = 32
# Permutations of up to so many slots are summed one by one: 4! = 24.
_MAX_WEDGE_DEGREE = 4


def compare(coefficients: Tensor, factor: Tensor, weights: Tensor) -> Tensor:
    """C_ab = Σ_p μ(p) (F_a ΛᵏV)(p) · (F_b ΛᵏV)(p), cloud by cloud.

    Differentiable, once, with respect to the coefficients; the geometry is fixed.

    Parameters
    ----------
    coefficients : (B, n, l, C)
    factor : (B, n, C, c)
        Λᵏ V, the compound of the Gram factor: V itself for k = 1.
    weights : (B, n)
        μ, zero on padding.

    Returns
    -------
    (B, l, l), symmetric PSD
    """
    return _Compare.apply(coefficients, factor, weights)[0]  # type: ignore[no-any-return, no-untyped-call]


def compare_by_metric(coefficients: Tensor, metric: Tensor) -> Tensor:
    """The same from the weighted k-th Gram matrices, metric (B, n, C, C) = μ ΛᵏV ΛᵏVᵀ.

    With Z = F G the gradient ∂/∂F ⟨g, C⟩ = (g + gᵀ) Z needs no product with the geometry, so this
    is the cheaper route where the factor is more than half as wide as it is high.
    """
    return _CompareByMetric.apply(coefficients, metric)[0]  # type: ignore[no-any-return, no-untyped-call]


def compare_pulled(pulled: Tensor, weights: Tensor) -> Tensor:
    """Σ_p μ(p) Y(p) Y(p)ᵀ of forms that were pulled through the factor, Y (B, n, l, c)."""
    if pulled.shape[-1] > _WIDE:  # products point by point: moving Y about would cost more
        return torch.einsum("bn,bnxy->bxy", weights, pulled @ pulled.mT)
    X = (pulled * weights.sqrt()[..., None, None]).transpose(1, 2).flatten(2)
    return X @ X.mT


class _Compare(torch.autograd.Function):
    """The comparison with its gradient: ∂/∂F ⟨g, C⟩ = μ (g + gᵀ) (F V) Vᵀ, one product each way.

    Automatic differentiation would take the two factors of Y Yᵀ for different ones.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(F: Tensor, V: Tensor, mu: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        Y = F @ V  # F is contracted with V first
        return compare_pulled(Y, mu), Y

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        _, V, mu = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(V, mu, output[1])

    @staticmethod
    def backward(ctx: Any, g: Tensor, _: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        V, mu, Y = ctx.saved_tensors
        both = g + g.mT
        if Y.shape[-1] > _WIDE:
            gY = (mu[..., None, None] * both.unsqueeze(1)) @ Y
        else:
            n, _, c = Y.shape[1:]
            gX = both @ Y.transpose(1, 2).flatten(2)
            gY = gX.unflatten(2, (n, c)).transpose(1, 2) * mu[..., None, None]
        return gY @ V.mT, None, None


class _CompareByMetric(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(F: Tensor, G: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        Z = F @ G
        if F.shape[-1] > _WIDE:
            C = (F @ Z.mT).sum(1)
        else:
            Z = Z.transpose(1, 2).flatten(2)
            C = F.transpose(1, 2).flatten(2) @ Z.mT
        return 0.5 * (C + C.mT), Z

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx: Any, g: Tensor, _: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        (Z,) = ctx.saved_tensors
        both = g + g.mT
        if ctx.shape[-1] > _WIDE:
            return both.unsqueeze(1) @ Z, None
        gF = (both @ Z).unflatten(2, (ctx.shape[1], ctx.shape[3]))
        return gF.transpose(1, 2), None


def compare_wedges(
    one_forms: Tensor, factor: Tensor, weights: Tensor, forms: int, degree: int
) -> Tensor:
    """The same for sums of decomposable forms, without any C(D, k).

    ⟨α_1 ∧ ... ∧ α_k, β_1 ∧ ... ∧ β_k⟩ = det[(Vᵀα_a) · (Vᵀβ_b)]

    Parameters
    ----------
    one_forms : (B, n, l R k, D)
    factor : (B, n, D, r)
    weights : (B, n)
    forms, degree : l, k
    """
    if degree > _MAX_WEDGE_DEGREE:
        raise ValueError(f"degree={degree}: wedge coefficients go up to {_MAX_WEDGE_DEGREE}")
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

"""The comparison matrix of learned forms on a batch of clouds."""

from __future__ import annotations

from itertools import permutations
from math import prod
from typing import Any

import torch
from torch import Tensor

# Permutations of up to so many slots are summed one by one: 4! = 24.
_MAX_WEDGE_DEGREE = 4


def compare(
    hidden: Tensor, weight: Tensor, bias: Tensor, factor: Tensor, weights: Tensor
) -> Tensor:
    """C_ab = Σ_p μ(p) (F_a ΛᵏV)(p) · (F_b ΛᵏV)(p) of the forms F = hidden weightᵀ + bias.

    Differentiable, once, with respect to hidden, weight and bias; the geometry is fixed.

    Parameters
    ----------
    hidden : (B, n, H)
        What the last linear map of a coefficient network reads.
    weight, bias : (l C, H), (l C,)
        That map; the coefficients of one form stand together.
    factor : (B, n, C, c)
        Λᵏ V, the compound of the Gram factor: V itself for k = 1.
    weights : (B, n)
        μ, zero on padding.

    Returns
    -------
    (B, l, l), symmetric PSD
    """
    return _Compare.apply(hidden, weight, bias, factor, weights)[0]  # type: ignore[no-any-return, no-untyped-call]


def compare_by_metric(hidden: Tensor, weight: Tensor, bias: Tensor, metric: Tensor) -> Tensor:
    """The same from the weighted k-th Gram matrices, metric (B, n, C, C) = μ ΛᵏV ΛᵏVᵀ.

    One wide product instead of two narrow ones: cheaper where the factor is more than half as wide
    as it is high.
    """
    return _Compare.apply(hidden, weight, bias, metric, None)[0]  # type: ignore[no-any-return, no-untyped-call]


def compare_pulled(pulled: Tensor, weights: Tensor) -> Tensor:
    """Σ_p μ(p) Y(p) Y(p)ᵀ of forms that were pulled through the factor, Y (B, n, l, c)."""
    return torch.einsum("bn,bnxy->bxy", weights, pulled @ pulled.mT)


class _Compare(torch.autograd.Function):
    """The comparison of forms that are a linear map W of hidden features h, with its gradient.

    With Z = μ G F, cloud by cloud, and K = Σ_p Z(p) h(p)ᵀ, s = Σ_p Z(p):

        C_ab    = W_a · K_b + bias_a · s_b
        ∂W_a    = Σ_clouds Σ_b (g + gᵀ)_ab K_b            (∂bias with s for K)
        ∂h(p)   = Σ_ab (g + gᵀ)_ab W_aᵀ Z_b(p)

    K is what the gradient of the linear map needs anyway, so the comparison adds one product with
    the geometry to the cost of the network, and nothing is moved between the order of points and
    that of forms. All tensors may have one more dimension in front, for models that are stacked.
    """

    @staticmethod
    def forward(  # type: ignore[override]
        h: Tensor, W: Tensor, bias: Tensor, V: Tensor, mu: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        *stack, B, n, _ = h.shape
        basis = V.shape[-2]
        l = W.shape[-2] // basis
        F = h.flatten(-3, -2) @ W.mT
        F = F.add_(bias.unsqueeze(-2)).view(*stack, B, n, l, basis)
        Z = (F @ V if mu is None else (F @ V * mu[..., None, None]) @ V.mT).flatten(-2)
        K, s = Z.mT @ h, Z.sum(-2)
        C = K.view(*stack, B * l, -1) @ W.reshape(*stack, l, -1).mT
        C = C + s.view(*stack, B * l, -1) @ bias.view(*stack, l, -1).mT
        C = C.view(*stack, B, l, l)
        return 0.5 * (C + C.mT), Z, K, s

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor, Tensor]
    ) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(inputs[1], *output[1:])

    @staticmethod
    def backward(ctx: Any, g: Tensor, *_: Any) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        W, Z, K, s = ctx.saved_tensors
        *stack, B, l, _l = g.shape
        both = g + g.mT
        each = both.view(*stack, B * l, l) @ W.reshape(*stack, l, -1)  # Σ_a (g + gᵀ)_ab W_a
        grad_h = Z @ each.view(*stack, B, *W.shape[-2:])
        sums = both.transpose(-3, -2).reshape(*stack, l, B * l)  # over clouds and forms at once
        grad_W = (sums @ K.view(*stack, B * l, -1)).view(W.shape)
        grad_bias = (sums @ s.view(*stack, B * l, -1)).flatten(-2)
        return grad_h, grad_W, grad_bias, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *args: Tensor | None
    ) -> tuple[tuple[Tensor, ...], int]:
        stacked = [
            arg
            if arg is None
            else arg.expand(info.batch_size, *arg.shape)
            if dim is None
            else arg.movedim(dim, 0)
            for arg, dim in zip(args, in_dims, strict=True)
        ]
        return _Compare.apply(*stacked), 0  # type: ignore[no-untyped-call]


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

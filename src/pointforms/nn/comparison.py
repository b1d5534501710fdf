"""Comparison matrices of learned forms on a batch of clouds, by the cheapest of several routes."""

from __future__ import annotations

from itertools import permutations
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from pointforms.nn import slots
from pointforms.nn.comparison_gradients import ByFactor, ByMetric, ByPairs, BySlots, pulled_by_pairs
from pointforms.nn.full_precision import in_full_precision

# A determinant is summed over all permutations of up to this many slots: 4! = 24.
_MAX_WEDGE_DEGREE = 4
# From this many points per cloud and hidden feature on, sums over the points of a cloud are worth
# their memory.
_MANY = 2


def _applied(comparison: type[torch.autograd.Function], *args: Any) -> Tensor:
    """Return comparison matrices, and not what else the function keeps for its gradient.

    Without gradients, torch.compile cannot trace `apply` with a variable number of arguments.
    """
    if torch.compiler.is_compiling() and not torch.is_grad_enabled():
        return comparison.forward(*args)[0]  # type: ignore[no-any-return]
    return comparison.apply(*args)[0]  # type: ignore[no-any-return, no-untyped-call]


@in_full_precision
def compare(hidden: Tensor, weight: Tensor, bias: Tensor, *geometry: Tensor) -> Tensor:
    """Compare forms through the compound factor: C_ab = Σ_p μ(p) (F_a ΛᵏV)(p) · (F_b ΛᵏV)(p).

    The coefficients are F = hidden weightᵀ + bias. The result can be differentiated with respect to
    hidden, weight and bias, as often as needed; the geometry is fixed.

    Parameters
    ----------
    hidden : Tensor, shape (B, n, H) or (P, H)
        Input of the last linear map of a coefficient network, at the points of a batch, or of all
        parts of a batch, one after the other.
    weight : Tensor, shape (l C, H)
        Weight of that map; the C coefficients of one form are adjacent.
    bias : Tensor, shape (l C,)
        Its bias.
    *geometry : Tensor, shapes (B, n, C, c) and (B, n)
        Of each part, ΛᵏV, the compound of the Gram factor (V itself for k = 1), and the measure μ,
        zero on padding.

    Returns
    -------
    Tensor, shape (B, l, l)
        Symmetric and positive semidefinite, for the clouds of all parts.
    """
    return _applied(ByFactor, hidden.flatten(0, -2), weight, bias, *geometry)


@in_full_precision
def compare_by_metric(hidden: Tensor, weight: Tensor, bias: Tensor, *metrics: Tensor) -> Tensor:
    """Compare forms through the weighted k-th Gram matrices (B, n, C, C) = μ ΛᵏV ΛᵏVᵀ of each part.

    The result equals that of :func:`compare`. One wide product replaces two narrow ones, which is
    cheaper if the factor is more than half as wide as it is high.
    """
    return _applied(ByMetric, hidden.flatten(0, -2), weight, bias, 1, *metrics)


@in_full_precision
def compare_by_pairs(hidden: Tensor, weight: Tensor, bias: Tensor, *geometry: Tensor) -> Tensor:
    """Compare 1-forms through positions (B, N, D), and scales and centre weights (B, n, N).

    Those of a part follow those of another. The result equals that of :func:`compare`, for the
    factors of :func:`pointforms.geometry.pairs.factor_of_pairs`; the scales have sqrt(μ) in them.
    """
    return _applied(ByPairs, hidden.flatten(0, -2), weight, bias, *geometry)


@in_full_precision
def compare_by_slots(
    hidden: Tensor, weight: Tensor, bias: Tensor, factor: Tensor, weights: Tensor, degree: int
) -> Tensor:
    """Compare forms of a degree k ≥ 2 through the Gram factor V, without its k-th compound.

    Arguments and result are those of :func:`compare` for one part (B, n), except for the factor,
    which is V (B, n, D, r) itself. Forms are contracted with V slot after slot, and back for a
    gradient. If the rank is high, they are contracted with G = V Vᵀ instead, once for both.
    """
    D, r = factor.shape[-2:]
    if r < degree:  # more slots than directions: directions of length zero fill them
        factor = pad(factor, (0, degree - r))
    passes = 2 if torch.is_grad_enabled() else 1
    if slots.multiplications(D, D, degree) < passes * slots.multiplications(D, r, degree):
        metric = factor @ factor.mT
        if hidden.shape[-2] < _MANY * hidden.shape[-1]:
            return _applied(BySlots, hidden, weight, bias, metric, weights, degree, True)
        metric = metric * weights.pow(1 / degree)[..., None, None]  # so that ΛᵏG has μ in it
        return _applied(ByMetric, hidden.flatten(0, 1), weight, bias, degree, metric)
    return _applied(BySlots, hidden, weight, bias, factor, weights, degree, False)


@in_full_precision
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


@in_full_precision
def compare_coefficients_by_pairs(F: Tensor, *geometry: Tensor) -> Tensor:
    """Compare 1-forms given by their coefficients F (B, n, l, D), as :func:`compare_by_pairs`."""
    pulled = pulled_by_pairs(F, *geometry)
    return torch.einsum("bnxc,bnyc->bxy", pulled, pulled)


@in_full_precision
def compare_pulled(pulled: Tensor, weights: Tensor) -> Tensor:
    """Compare forms already contracted with the factor, Y (B, n, l, c): C = Σ_p μ(p) Y(p) Y(p)ᵀ."""
    return torch.einsum("bn,bnxy->bxy", weights, pulled @ pulled.mT)


@in_full_precision
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

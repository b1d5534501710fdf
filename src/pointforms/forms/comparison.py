"""The comparison matrix of learned forms on a batch of clouds."""

from __future__ import annotations

from itertools import permutations
from math import prod

import torch
from torch import Tensor

# Permutations of up to so many slots are summed one by one: 4! = 24.
_MAX_WEDGE_DEGREE = 4


def compare(coefficients: Tensor, factor: Tensor, weights: Tensor) -> Tensor:
    """C_ab = Σ_p μ(p) (ΛᵏVᵀ F_a)(p) · (ΛᵏVᵀ F_b)(p), cloud by cloud.

    Parameters
    ----------
    coefficients : (B, n, C, l)
    factor : (B, n, C, c)
        Λᵏ V, the compound of the Gram factor: V itself for k = 1.
    weights : (B, n)
        μ, zero on padding.

    Returns
    -------
    (B, l, l), symmetric PSD
    """
    pulled = factor.mT @ coefficients  # (B, n, c, l): F is contracted with V first
    X = (pulled * weights.sqrt()[..., None, None]).flatten(1, 2)
    return X.mT @ X


def compare_wedges(
    one_forms: Tensor, factor: Tensor, weights: Tensor, forms: int, degree: int
) -> Tensor:
    """The same for sums of decomposable forms, without any C(D, k).

    ⟨α_1 ∧ ... ∧ α_k, β_1 ∧ ... ∧ β_k⟩ = det[(Vᵀα_a) · (Vᵀβ_b)]

    Parameters
    ----------
    one_forms : (B, n, D, l R k)
    factor : (B, n, D, r)
    weights : (B, n)
    forms, degree : l, k
    """
    if degree > _MAX_WEDGE_DEGREE:
        raise ValueError(f"degree={degree}: wedge coefficients go up to {_MAX_WEDGE_DEGREE}")
    A = factor.mT @ one_forms  # (B, n, r, l R k)
    M = (A.mT @ A).unflatten(-1, (-1, degree)).unflatten(-3, (-1, degree))  # (B, n, lR, k, lR, k)
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
    per_form = per_cloud.unflatten(-1, (forms, -1)).sum(-1)
    return per_form.unflatten(-2, (forms, -1)).sum(-2)

"""Exterior algebra in coordinates: multi-indices, compound matrices, pullbacks of forms.

A k-form at a point is the vector of its C(D, k) coefficients on dx^I, where I runs through the
increasing multi-indices of length k in lexicographic order.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np
import torch
from torch import Tensor

Route = Literal["auto", "compound", "slots"]

# Largest number of entries of Λᵏ V per point for which the compound route is chosen: its product
# with the coefficients costs ℓ C(D,k) C(r,k), while the cost of the slots grows like ℓ C(D,k) r.
COMPOUND_MAX = 1 << 14


def check_degree(degree: int, features: int) -> None:
    """Raise an error unless there are forms of this degree other than zero.

    Parameters
    ----------
    degree : int
        Degree of the forms, k.
    features : int
        Number of features of the points, D.

    Examples
    --------
    >>> check_degree(2, features=2)
    >>> check_degree(3, features=2)
    Traceback (most recent call last):
    ValueError: degree=3 exceeds the 2 features of the points: all forms of that degree are zero
    """
    if degree > features:
        raise ValueError(
            f"degree={degree} exceeds the {features} features of the points: all forms of that "
            "degree are zero"
        )


def multi_indices(D: int, k: int) -> Tensor:
    """Return the increasing multi-indices i_1 < ... < i_k of range(D).

    Parameters
    ----------
    D : int
        Number of coordinates.
    k : int
        Length of the multi-indices.

    Returns
    -------
    Tensor of int, shape (C(D, k), k)
        One multi-index per row, in lexicographic order.

    Examples
    --------
    >>> multi_indices(3, 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return torch.tensor(list(combinations(range(D), k)), dtype=torch.long).reshape(comb(D, k), k)


def compound(A: Tensor, k: int) -> Tensor:
    """Return the k-th compound matrix: all k × k minors det A[I, J].

    It satisfies, for the shapes that allow it,

    - compound(A B, k) = compound(A, k) compound(B, k)   (Cauchy-Binet)
    - compound(Aᵀ, k) = compound(A, k)ᵀ
    - compound(A, 0) = [1], compound(A, 1) = A, compound(A, n) = [det A]

    Parameters
    ----------
    A : Tensor, shape (..., m, n)
        One matrix, or a batch of them.
    k : int
        Degree, at least 0.

    Returns
    -------
    Tensor, shape (..., C(m, k), C(n, k))

    Examples
    --------
    >>> A = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> compound(A, 2)
    tensor([[-2.],
            [-4.],
            [-2.]])
    """
    if k < 0:
        raise ValueError(f"degree={k}: expected at least 0")
    if k == 0:
        return A.new_ones(*A.shape[:-2], 1, 1)
    m, n = A.shape[-2:]
    if k > min(m, n):  # there are none, and those of lower degrees may be very many
        return A.new_zeros(*A.shape[:-2], comb(m, k), comb(n, k))
    minors = A
    for j in range(2, k + 1):
        minors = _next_minors(A, minors, j)
    return minors


def _next_minors(A: Tensor, minors: Tensor, k: int) -> Tensor:
    """Compute k-minors from (k-1)-minors by expansion along their last row."""
    m, n = A.shape[-2:]
    last_row, other_rows = _on(A, *_split(m, k, k - 1))
    # columns first, while there are few rows: rows are then copied whole
    entries = [_columns(A, k, b) for b in range(k)]
    total: Tensor | None = None
    for b in reversed(range(k)):  # the last has the sign +
        entry = entries[b].index_select(-2, last_row)
        rest = entries[1 - b] if k == 2 else minors.index_select(-1, *_on(A, _split(n, k, b)[1]))
        rest = rest.index_select(-2, other_rows)
        sign = (-1) ** (k - 1 + b)
        total = entry * rest if total is None else total.addcmul(entry, rest, value=sign)
    assert total is not None
    return total


def _columns(A: Tensor, k: int, place: int) -> Tensor:
    """Return the column of A (..., m, n) at a place of every J of length k: (..., m, C(n, k)).

    To select single entries is faster than to select along the last dimension.
    """
    [entries] = _on(A, _entries(*A.shape[-2:], k, place))
    return A.flatten(-2).index_select(-1, entries).view(*A.shape[:-1], comb(A.shape[-1], k))


@lru_cache(maxsize=256)
def _entries(m: int, n: int, k: int, place: int) -> np.ndarray:
    """Return where in a flat matrix (m, n) the columns of :func:`_columns` are."""
    entries: np.ndarray = n * np.arange(m)[:, None] + _split(n, k, place)[0]
    return entries.flatten()


@lru_cache(maxsize=256)
def _split(D: int, k: int, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, for every I of length k, its entry at `place` and the rank of I without it."""
    rank = {I: r for r, I in enumerate(combinations(range(D), k - 1))}
    entry = [I[place] for I in combinations(range(D), k)]
    rest = [rank[I[:place] + I[place + 1 :]] for I in combinations(range(D), k)]
    return np.array(entry, dtype=np.int64), np.array(rest, dtype=np.int64)


def _on(like: Tensor, *tables: np.ndarray) -> tuple[Tensor, ...]:
    """Move tables to a tensor's device; cached tensors might come from inference mode."""
    return tuple(torch.from_numpy(table).to(like.device) for table in tables)


def pull(coefficients: Tensor, factor: Tensor, degree: int, route: Route = "auto") -> Tensor:
    """Pull k-forms on R^D back through linear maps V: R^r -> R^D, one map per point.

    (Vᵀω)_A = ω(V_{a_1}, ..., V_{a_k}) for increasing A, so that by Cauchy-Binet
    ⟨ω, η⟩_G = (Vᵀω) · (Vᵀη) for G = V Vᵀ, without the compound matrix of G.

    Parameters
    ----------
    coefficients : Tensor, shape (n, l, C(D, k))
        Coefficients of l forms at n points.
    factor : Tensor, shape (n, D, r)
        V.
    degree : int
        k.
    route : {"auto", "compound", "slots"}, default "auto"
        "compound" multiplies by the compound matrix of V. "slots" fills the k slots of the forms
        one after the other and never holds C(D, k) × C(r, k) numbers. "auto" chooses by size.

    Returns
    -------
    Tensor, shape (n, l, C(r, k))

    Examples
    --------
    >>> area = torch.ones(1, 1, 1)  # dx ∧ dy at one point of the plane
    >>> V = torch.tensor([[[2.0, 0.0], [0.0, 3.0]]])
    >>> pull(area, V, degree=2).item()
    6.0
    """
    D, r = factor.shape[-2:]
    if degree == 0:
        return coefficients
    if degree == 1:
        return coefficients @ factor
    if route == "auto":
        route = "compound" if comb(D, degree) * comb(r, degree) <= COMPOUND_MAX else "slots"
    if route == "compound":
        return coefficients @ compound(factor, degree)
    return _fill_slots(coefficients, factor, degree)


def _fill_slots(coefficients: Tensor, factor: Tensor, degree: int) -> Tensor:
    """Take interior products with the columns of V, in increasing order.

    After j steps T[A, J] = (ι_{V_{a_j}} ... ι_{V_{a_1}} ω)_J for |A| = j increasing, |J| = k - j.
    """
    n, l, _ = coefficients.shape
    D, r = factor.shape[-2:]
    if degree > min(D, r):  # more slots than directions: zero, but differentiable
        return coefficients @ coefficients.new_zeros(comb(D, degree), comb(r, degree))
    T = coefficients.unsqueeze(2)  # (n, l, C(r, 0), C(D, k))
    for j in range(degree):
        rest = comb(D, degree - j - 1)
        source, sign = _on(T, *_unfolding(D, degree - j))
        (increasing,) = _on(T, _increasing(r, j))
        # T as a matrix from the rest J to the slot i, antisymmetric: zero where i is in J
        unfolded = T.index_select(-1, source).view(n, l, comb(r, j), rest, D) * sign.to(T.dtype)
        filled = (unfolded.flatten(1, 3) @ factor).view(n, l, comb(r, j), rest, r)
        T = filled.movedim(-1, 3).flatten(2, 3).index_select(2, increasing)
    return T.squeeze(-1)


@lru_cache(maxsize=64)
def _unfolding(D: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank of J ∪ {i}, flattened, and the sign of dx^i ∧ dx^J, for |J| = k - 1."""
    rank = {I: r for r, I in enumerate(combinations(range(D), k))}
    source = np.zeros((comb(D, k - 1), D), dtype=np.int64)
    sign = np.zeros((comb(D, k - 1), D), dtype=np.int8)
    for row, J in enumerate(combinations(range(D), k - 1)):
        for i in range(D):
            if i not in J:
                before = sum(j < i for j in J)
                source[row, i] = rank[tuple(sorted((*J, i)))]
                sign[row, i] = (-1) ** before
    return source.flatten(), sign


@lru_cache(maxsize=64)
def _increasing(r: int, j: int) -> np.ndarray:
    """Return the places of increasing (A, a) among all (A, a) with A increasing of length j."""
    rank = {A: p for p, A in enumerate(combinations(range(r), j))}
    places = [rank[A[:-1]] * r + A[-1] for A in combinations(range(r), j + 1)]
    return np.array(places, dtype=np.int64)

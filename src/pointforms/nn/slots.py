"""Coefficients of k-forms, k ≥ 2, contracted with a matrix of each point, slot after slot.

A form with coefficients F is pulled back by a matrix M with D rows, the first slot by M and the
others by its compound of degree k - 1:

    T_aB = Σ_i M_ia Σ_J F_iJ (Λᵏ⁻¹M)_JB        with F_iJ the coefficient of dx^i ∧ dx^J, i < J
    y_A  = Σ_t (-1)^t T_{a_t, A without a_t}

With M = V, y are the values of the form on the columns of V. With M = G, y = ΛᵏG F are coefficients
again, the form with its indices raised.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from pointforms.exterior import compound

# Fewest and most points in a block, which has about as many numbers as stay in the processor's
# cache, and never more than it may hold.
_POINTS, _CACHED, _HELD = (64, 256), 1 << 18, 1 << 20
# First indices in a band of coefficients of 2-forms: fewer waste less, and are smaller products.
# Forms of higher degrees waste more.
_HEIGHT = 6


def multiplications(D: int, r: int, k: int) -> int:
    """Return the number of multiplications that pull a form back to r directions."""
    return comb(r, k - 1) * (comb(D, k) + r * (D - k + 1))


def raised(h: Tensor, W: Tensor, bias: Tensor, G: Tensor, degree: int) -> Tensor:
    """Return ΛᵏG F (B, n, l C) for the coefficients F = h Wᵀ + bias and matrices G (B, n, D, D)."""
    banded = in_bands(W, bias, G.shape[-1], degree)
    blocks = split_in_blocks(G, degree, len(W), h)
    if torch.is_grad_enabled():  # autograd has no out=
        found = [pull(coefficients(h_, *banded), G_, degree) for h_, G_ in blocks]
        return torch.cat(found).view(*h.shape[:2], -1)
    Z = h.new_empty(*h.shape[:2], len(W))
    rows = Z.flatten(0, 1).split([len(h_) for h_, _ in blocks])
    for (h_, G_), own in zip(blocks, rows, strict=True):
        pull(coefficients(h_, *banded), G_, degree, out=own)
    return Z


def in_bands(W: Tensor, bias: Tensor, D: int, degree: int) -> tuple[Tensor, Tensor]:
    """Return the last map of a network with its outputs in bands, and 0 where there is none."""
    places = _on(_places(D, degree, len(W) // comb(D, degree)), W)
    return pad(W, (0, 0, 0, 1)).index_select(0, places), pad(bias, (0, 1)).index_select(0, places)


def from_bands(values: Tensor, D: int, degree: int, dim: int = 0) -> Tensor:
    """Return values that are in bands along a dimension in the order of coefficients."""
    l = values.shape[dim] // sum(band.height * band.width for band in _bands(D, degree))
    return values.index_select(dim, _on(_from_bands(D, degree, l), values))


def coefficients(h: Tensor, W: Tensor, bias: Tensor) -> Tensor:
    """Return coefficients of all forms at the points of a block."""
    return torch.addmm(bias, h, W.mT)


def split_in_blocks(
    M: Tensor, degree: int, width: int, *others: Tensor
) -> list[tuple[Tensor, ...]]:
    """Split points into blocks, for `width` coefficients of all forms at a point.

    The others are hidden features (B, n, H), and maybe more numbers of each point. Matrices M
    (B, n, D, r) come last.
    """
    D, r = M.shape[-2:]
    rest = comb(r, degree - 1)
    most = max(width, width // comb(D, degree) * r * rest)
    size = min(max(_CACHED // most, _POINTS[0]), _POINTS[1])
    size = max(1, min(size, _HELD // max(width, comb(D, degree - 1) * rest)))
    blocks = [tensor.flatten(0, 1).split(size) for tensor in (*others, M)]
    return list(zip(*blocks, strict=True))


def pull(F: Tensor, M: Tensor, degree: int, out: Tensor | None = None) -> Tensor:
    """Pull coefficients F (P, ...) in bands back by M (P, D, r): (P, l C(r, k))."""
    points, (D, r) = len(F), M.shape[-2:]
    L = compound(M[:, 1:], degree - 1)  # no J has the first index
    bands = _bands(D, degree)
    l = F.shape[1] // sum(band.height * band.width for band in bands)
    parts = F.split([band.height * l * band.width for band in bands], 1)
    filled = [
        part.unflatten(1, (-1, band.width)) @ L[:, -band.width :]
        for band, part in zip(bands, parts, strict=True)
    ]
    S = filled[0] if len(filled) == 1 else torch.cat(filled, 1)
    S = S.view(points, D - degree + 1, l * comb(r, degree - 1))
    T = (M[:, : D - degree + 1].mT @ S).flatten(1)
    y, *terms, last = (T.index_select(1, _on(places, T)) for places in _slots(r, degree, l))
    for t, term in enumerate(terms, start=1):
        y = y.add_(term, alpha=(-1) ** t)
    return torch.add(y, last, alpha=(-1) ** (degree - 1), out=out)


def push(y: Tensor, V: Tensor, degree: int) -> Tensor:
    """Apply the transpose of :func:`pull`: from (P, l C(r, k)) to coefficients in bands."""
    points, (D, r) = len(y), V.shape[-2:]
    l, rest = y.shape[1] // comb(r, degree), comb(r, degree - 1)
    L = compound(V[:, 1:], degree - 1)
    back, sign = (_on(table, y) for table in _way_back(r, degree, l))
    T = y.index_select(1, back).mul_(sign)
    S = V[:, : D - degree + 1] @ T.view(points, r, l * rest)
    S = S.view(points, (D - degree + 1) * l, rest)
    bands = _bands(D, degree)
    parts = zip(bands, S.split([band.height * l for band in bands], 1), strict=True)
    filled = [(part @ L[:, -band.width :].mT).flatten(1) for band, part in parts]
    return filled[0] if len(filled) == 1 else torch.cat(filled, 1)


def _on(table: np.ndarray, like: Tensor) -> Tensor:
    """Return a table as a tensor beside another. Cached tensors might come from inference mode."""
    return torch.from_numpy(table).to(like.device)


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
    first, height = D - k + 1, max(1, _HEIGHT // (k - 1))
    return tuple(
        _Band(start, min(height, first - start), comb(D - start - 1, k - 1))
        for start in range(0, first, height)
    )


@lru_cache(maxsize=64)
def _places(D: int, k: int, l: int) -> np.ndarray:
    """Return the places of coefficients (l C) in the order of the bands: by band, i, form and J.

    Where there is none, the place is l C.
    """
    C = comb(D, k)
    rank = {I: place for place, I in enumerate(combinations(range(D), k))}
    found = []
    for start, height, _ in _bands(D, k):
        others = list(combinations(range(start + 1, D), k - 1))
        rows = range(start, start + height)
        places = np.array([[rank.get((i, *J), -1) for J in others] for i in rows])[:, None]
        of_forms = places + C * np.arange(l)[:, None]
        found.append(np.where(places < 0, l * C, of_forms).flatten())
    return np.concatenate(found)


@lru_cache(maxsize=64)
def _from_bands(D: int, k: int, l: int) -> np.ndarray:
    """Return where in the bands all coefficients (l C) are."""
    places = _places(D, k, l)
    found = np.empty(l * comb(D, k) + 1, np.int64)
    found[places] = np.arange(len(places))
    return found[:-1]


@lru_cache(maxsize=64)
def _slots(r: int, k: int, l: int) -> tuple[np.ndarray, ...]:
    """Return the places of T_{a_t, A without a_t} in T (r, l, C(r, k - 1)) for all A, by t."""
    indices = np.array(list(combinations(range(r), k)))
    rest = {B: place for place, B in enumerate(combinations(range(r), k - 1))}
    taken = []
    for t in range(k):
        others = np.array([rest[tuple(A)] for A in np.delete(indices, t, 1).tolist()])
        rows = indices[:, t] * l + np.arange(l)[:, None]
        taken.append((rows * len(rest) + others).flatten())
    return tuple(taken)


@lru_cache(maxsize=64)
def _way_back(r: int, k: int, l: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places in y (l, C(r, k)) of all entries of T, and their signs: 0 if a is in B."""
    back = np.zeros(r * l * comb(r, k - 1), np.int64)
    sign = np.zeros(len(back), np.int8)
    for t, places in enumerate(_slots(r, k, l)):
        back[places], sign[places] = np.arange(len(places)), (-1) ** t
    return back, sign

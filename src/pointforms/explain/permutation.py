"""The part of the variation between clouds that labels explain, against permuted labels."""

from __future__ import annotations

import numpy as np
from sklearn.utils import gen_batches

# Numbers in the product of permuted labels with contributions: 32 MB.
_WORKING_SET = 1 << 22


def rearrangements(
    labels: np.ndarray, groups: np.ndarray | None, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Return random rearrangements of labels: (count, N) places; labels[places[b]] is one of them.

    Without groups, any permutation. With groups, clouds of one group are alike for other reasons
    than their label: groups with one label (patients) exchange it as wholes, and the labels of a
    group with several (two trajectories of one start) are exchanged inside it only.
    """
    N = len(labels)
    places = np.tile(np.arange(N), (count, 1))
    if groups is None:
        for row in places:
            row[:] = rng.permutation(N)
        return places
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    mixed = [m for m in members if len(np.unique(labels[m], axis=0)) > 1]
    whole = [m for m in members if len(np.unique(labels[m], axis=0)) == 1]
    first = np.array([m[0] for m in whole], dtype=np.int64)
    for row in places:
        for m in mixed:
            row[m] = rng.permutation(m)
        for m, source in zip(whole, rng.permutation(first), strict=True):
            row[m] = source
    return places


def variance_explained(values: np.ndarray, designs: np.ndarray) -> np.ndarray:
    """Return η², the share of the variation of vectors that a design explains: (designs, B).

    η² = Σ_c n_c |mean of class c - mean|² / Σ_i |v_i - mean|² for classes; R² of the regression on
    the columns of the design in general.

    Parameters
    ----------
    values : (N, B, m) array
        v_i, an m-vector of each cloud for each of B basis forms.
    designs : (designs, N, c) array
        Orthonormal columns; see :func:`orthonormal_columns`.
    """
    N, B, m = values.shape
    centred = (values - values.mean(0)).reshape(N, B * m)
    total = (centred**2).reshape(N, B, m).sum((0, 2))
    between = np.zeros((len(designs), B))
    step = max(1, _WORKING_SET // (B * m * designs.shape[2]))
    for rows in gen_batches(len(designs), step):
        product = designs[rows].transpose(0, 2, 1).reshape(-1, N) @ centred
        between[rows] = (product**2).reshape(-1, designs.shape[2], B, m).sum((1, 3))
    share: np.ndarray = between / np.where(total > 0, total, 1.0)
    return share


def orthonormal_columns(targets: np.ndarray) -> np.ndarray:
    """Return orthonormal columns that span the centred columns of targets (..., N, c)."""
    centred = targets - targets.mean(-2, keepdims=True)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    kept: np.ndarray = U * (s > 1e-9 * s[..., :1])[..., None, :]
    return kept


def p_values(observed: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Return the family-wise p of each of B statistics: how often the *largest* is as large.

    Valid for any dependence between the statistics; the observed labels count as one of the
    permutations.

    Parameters
    ----------
    observed : (B,) array
    chance : (permutations, B) array
    """
    largest = np.sort(chance.max(1))
    # equal values count, as where a permutation changes nothing
    as_large = len(largest) - np.searchsorted(largest, observed - 1e-12)
    p: np.ndarray = (1 + as_large) / (1 + len(largest))
    return p

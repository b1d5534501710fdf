"""The dimension of a cloud: the rank of the projectors that its neighbourhoods are nearest to.

On a d-manifold the covariance of a neighbourhood is nearly a multiple of a projector of rank d.
From its eigenvalues λ, the sine of the angle to the nearest projector of rank d is

    sqrt(1 - (λ_1 + ... + λ_d)² / (d (λ_1² + ... + λ_D²))).

The neighbour count with the smallest mean sine for any d is the scale at which the cloud looks most
like a manifold. In many dimensions few points spread the d large eigenvalues, between (1 ± √(d/k))²
(Marchenko and Pastur 1967), so that the last of them look small. So d is the rank of the nearest
projectors at that scale whose eigenvalues are spread in the same way.

Noise makes narrow neighbourhoods look thicker than wide ones. Where a wider one has a higher rank,
the manifold bends inside it, and it is not asked. Nor is one of a lower rank if a narrower one is
no noise, which would fill all directions, but close to projectors: then the manifold ends inside
the wider one, as a narrow strip does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

#: Neighbours that a tangent space needs per dimension.
PER_DIMENSION = 4
# Neighbours per dimension with which a rank is certain not to be too low.
_SURE = 8
# A sine below which a neighbourhood is close to projectors.
_CLEAN = 0.2
# c and k₁ in the spread (1 ± √γ)² of eigenvalues, γ = c d / (k + k₁). Points of a kernel count in
# part, and their radii vary less than Gaussian ones: calibrated on cubes, Gaussians, spheres and
# rotations of 1 to 12 dimensions.
_SPREAD, _MORE = 0.5, 16


@dataclass(frozen=True)
class Angles:
    """Angles between neighbourhoods and projectors of rank 1 to r, at several neighbour counts.

    Attributes
    ----------
    counts : tuple of int
        The neighbour counts, ascending.
    sine : ndarray, shape (counts, r)
        Mean sine of the angle to the nearest projector of each rank; NaN for ranks above a quarter
        of the count, which cannot be told.
    spread_sine : ndarray, shape (counts, r)
        The same for projectors with spread eigenvalues.
    share : ndarray, shape (counts, r)
        Share of the points whose nearest projector with spread eigenvalues has that rank.
    features : int
        D, the largest rank.
    """

    counts: tuple[int, ...]
    sine: np.ndarray
    spread_sine: np.ndarray
    share: np.ndarray
    features: int

    def table(self, ranks: int) -> np.ndarray:
        """Return the three tables, with more ranks that cannot be told: (3, counts, ranks)."""
        counts, told = self.sine.shape
        table = np.full((3, counts, ranks), np.nan)
        table[:, :, :told] = self.sine, self.spread_sine, self.share
        return table


def nearest_rank(*clouds: Angles) -> tuple[int, float]:
    """Return the rank of the projectors nearest to several clouds, and the share that agrees.

    The angles of all clouds are at the same neighbour counts. Clouds that cannot tell a rank
    abstain from it. If no cloud can tell the next higher rank, there may be more dimensions, and
    the share is 0.
    """
    most = max(angles.sine.shape[1] for angles in clouds)
    tables = np.stack([angles.table(most) for angles in clouds])
    told = np.isfinite(tables).sum(0)
    sine, spread_sine, share = np.where(
        told > 0, np.nansum(tables, 0) / np.maximum(told, 1), [[[1.0]], [[1.0]], [[0.0]]]
    )
    ranks = spread_sine.argmin(-1) + 1
    features = clouds[0].features
    local = _before_it_bends_or_ends(clouds[0].counts, ranks, spread_sine.min(-1), features)
    count = sine[:local].min(-1).argmin()
    rank = int(ranks[count])
    last = rank < features and (rank == most or told[0, :, rank].sum() == 0)
    return rank, 0.0 if last else float(share[count, rank - 1])


def _before_it_bends_or_ends(
    counts: tuple[int, ...], ranks: np.ndarray, sines: np.ndarray, features: int
) -> int:
    """Return the number of counts up to which ranks agree with those that were told before."""
    lowest, highest = 1, features
    for i, (k, rank, sine) in enumerate(zip(counts, ranks, sines, strict=True)):
        if not lowest <= rank <= highest:
            return i
        if _SURE * rank <= k:
            highest = rank
            if rank < features and sine < _CLEAN:
                lowest = rank
    return len(counts)


def projector_angles(values: np.ndarray, counts: tuple[int, ...], features: int) -> Angles:
    """Return the angles of covariances to projectors.

    Parameters
    ----------
    values : ndarray, shape (counts, m, r)
        Eigenvalues of m covariances at each neighbour count, descending.
    counts : tuple of int
        The neighbour counts, ascending.
    features : int
        D, the largest rank.
    """
    spectra, told = _projectors(counts, values.shape[-1])
    norm = np.linalg.norm(values, axis=-1, keepdims=True)
    varied = norm > 0  # a neighbourhood of copies has no direction: far from all projectors
    directions = values / np.where(varied, norm, 1.0)
    cosine = np.minimum(directions @ spectra, 1.0)  # (2, counts, m, ranks)
    sine = np.where(told, np.sqrt(1 - cosine**2).mean(-2), np.nan)
    nearest = np.where(told[:, None], cosine[1], -1.0).argmax(-1)[..., None]
    share = ((nearest == np.arange(told.shape[-1])) & varied).sum(1) / np.maximum(varied.sum(1), 1)
    return Angles(counts, sine[0], sine[1], np.where(told, share, np.nan), features)


@lru_cache(maxsize=256)
def _projectors(counts: tuple[int, ...], length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return spectra of projectors as unit vectors, and which of their ranks can be told.

    The spectra (2, counts, length, ranks) are 1 up to their rank, or fall evenly from (1 + √γ)² to
    (1 - √γ)². What can be told is (counts, ranks).
    """
    k = np.array(counts)[:, None]
    d = np.arange(1, max(1, min(length, counts[-1] // PER_DIMENSION)) + 1)
    root = np.minimum(np.sqrt([0 * d / k, _SPREAD * d / (k + _MORE)]), 1.0)[:, :, None]
    place = (np.arange(length)[:, None] + 0.5) / d
    spectra = np.where(place < 1, (1 + root) ** 2 - 4 * root * place, 0.0)
    unit: np.ndarray = spectra / np.linalg.norm(spectra, axis=-2, keepdims=True)
    return unit, d <= np.maximum(1, k // PER_DIMENSION)

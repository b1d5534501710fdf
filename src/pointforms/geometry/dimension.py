"""Intrinsic dimension, by local PCA or from the growth of the kernel sum."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from pointforms.clouds import CloudLike, as_cloud
from pointforms.geometry.bandwidth import steepest, wide_exponents
from pointforms.geometry.density import local_scale
from pointforms.geometry.neighbors import NeighborLists, neighbor_lists, representatives

# A direction counts when its variance is more than this share of what it would be without noise or
# curvature, and of the largest: Fukunaga and Olsen's 5 %, and more where the sample can tell more.
_SHARE, _SHARE_OF_LARGEST = 0.4, 0.05
# Spectra are averaged over neighbourhoods that cover the cloud so many times, within bounds,
_COVER = 2
_MIN_POINTS, _MAX_POINTS = 3, 128
# and on a complete graph, where lists are not local, of this many neighbours.
_COMPLETE_NEIGHBORS = 32
# The slope's own local scale.
_SLOPE_SCALE_NEIGHBORS = 16


def local_pca_dimension(points: Tensor, lists: NeighborLists) -> Tensor:
    """d of each cloud: the directions of its neighbourhoods that carry variance.

    The eigenvalues of the neighbourhoods' covariances, each divided by the largest, are averaged
    over the cloud; d counts the leading ones above a threshold (Fukunaga and Olsen 1971). Were the
    manifold flat and of dimension j, sampling k points alone would spread its variances down to
    ((1 - √(j/k)) / (1 + √(j/k)))² of the largest (Marchenko and Pastur 1967); the j-th direction
    counts if it has a fixed share of that.

    Parameters
    ----------
    points : (B, n, D)
        Centred clouds.
    lists : neighbour lists of the batch

    Returns
    -------
    (B, 1), whole numbers in the dtype of the points
    """
    n = points.shape[1]
    if lists.complete:
        lists = lists.narrow(min(n, _COMPLETE_NEIGHBORS))
    if lists.complete:  # every list is the whole cloud: one spectrum says it all
        neighborhoods = points.unsqueeze(1)
    else:
        count = _COVER * n // lists.sq.shape[-1]
        rows = representatives(points, min(max(count, _MIN_POINTS), _MAX_POINTS))
        assert lists.index is not None
        chosen = lists.index.gather(1, rows.unsqueeze(-1).expand(-1, -1, lists.index.shape[-1]))
        neighborhoods = points.flatten(0, 1)[chosen]
    spectrum = _relative_spectrum(neighborhoods).mean(1).flip(-1)
    thresholds = _thresholds(spectrum.shape[-1], neighborhoods.shape[-2]).to(points.device)
    counts = (spectrum > thresholds).to(points.dtype).cumprod(-1)
    return counts.sum(-1, keepdim=True).clamp_min_(1)


@lru_cache(maxsize=1024)
def _thresholds(count: int, k: int) -> Tensor:
    """The share of the largest variance from which direction j = 1 .. count of k points counts."""
    root = (torch.arange(1, count + 1) / k).sqrt()
    return (_SHARE * ((1 - root) / (1 + root)).square()).clamp_min(_SHARE_OF_LARGEST)


def _relative_spectrum(neighborhoods: Tensor) -> Tensor:
    """Covariance eigenvalues over the largest, ascending: (B, m, k, D) -> (B, m, min(k, D))."""
    centered = neighborhoods - neighborhoods.mean(-2, keepdim=True)
    k, D = centered.shape[-2:]
    small = centered @ centered.mT if k < D else centered.mT @ centered
    values = torch.linalg.eigvalsh(small)
    largest = values[..., -1:]
    # a neighbourhood of copies has no spectrum and no say
    return torch.where(largest > 0, values / largest, 0.0)


def slope_dimension(points: Tensor) -> Tensor:
    """Twice the steepest slope of log S against log ε, with ρ = r₀, which asks for no d: (B,)."""
    count = min(_SLOPE_SCALE_NEIGHBORS, points.shape[1])
    r0 = local_scale(neighbor_lists(points, count).nearest_sq(count))
    return torch.stack([2 * steepest(wide)[1] for wide in wide_exponents(points, r0)])


def estimate_dimension(
    points: CloudLike, method: Literal["local-pca", "slope"] = "local-pca", neighbors: int = 32
) -> float:
    """Intrinsic dimension of one cloud (n, D).

    "local-pca" counts the directions of variance in neighbourhoods of `neighbors` points: a whole
    number, the estimate that :func:`pointforms.gram_field` uses. "slope" is twice the steepest
    growth of the kernel sum (Berry and Harlim), any number; it looks at 256 neighbours.
    """
    cloud = as_cloud(points).unsqueeze(0)
    x = cloud - cloud.mean(1, keepdim=True)
    if method == "local-pca":
        return float(local_pca_dimension(x, neighbor_lists(x, min(neighbors, x.shape[1]))))
    if method == "slope":
        return float(slope_dimension(x))
    raise ValueError(f"method={method!r}: expected one of 'local-pca', 'slope'")

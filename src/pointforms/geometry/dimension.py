"""Estimate the intrinsic dimension, in one of three ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from pointforms.cloud import CloudLike, as_cloud
from pointforms.geometry.bandwidth import steepest, wide_exponents
from pointforms.geometry.chunked import ChunkedLists
from pointforms.geometry.density import local_scale
from pointforms.geometry.evidence import Evidence
from pointforms.geometry.neighbors import BLOCK, NeighborLists, neighbor_lists
from pointforms.geometry.projector_angles import nearest_rank
from pointforms.geometry.representatives import representatives
from pointforms.geometry.ties import nearest
from pointforms.geometry.units import own_units
from pointforms.support.checks import check_choice, check_int

# A direction counts if its variance exceeds the first share of what a flat sample would have, and
# the second share of the largest variance (the 5 % of Fukunaga and Olsen).
_SHARE, _SHARE_OF_LARGEST = 0.4, 0.05
# Spectra are averaged over enough neighbourhoods to cover the cloud this many times, within bounds.
_COVER = 2
_MIN_POINTS, _MAX_POINTS = 3, 128
# On a complete graph, whose lists are not local, neighbourhoods have this many points.
_COMPLETE_NEIGHBORS = 32
# Neighbours that set the local scale for the slope.
_SLOPE_SCALE_NEIGHBORS = 16


def local_pca_dimensions(points: Tensor, neighbors: int) -> list[int]:
    """Return d of each cloud of (B, n, D) by local PCA."""
    x = own_units(points)[0]
    k = min(neighbors, x.shape[1])
    lists = nearest(neighbor_lists(x, k + 1), x, k)
    return [int(d) for d in local_pca_dimension(x, lists).flatten().tolist()]


def local_pca_dimension(points: Tensor, lists: NeighborLists | ChunkedLists) -> Tensor:
    """Return d of each cloud: the number of directions in which its neighbourhoods vary.

    The eigenvalues of the neighbourhoods' covariances, each divided by the largest, are averaged
    over the cloud, and d counts the leading ones above a threshold (Fukunaga and Olsen 1971). In a
    flat manifold of dimension j, sampling k points alone spreads the variances down to
    ((1 - √(j/k)) / (1 + √(j/k)))² of the largest (Marchenko and Pastur 1967); the j-th direction
    counts if its variance exceeds a fixed share of that.

    Parameters
    ----------
    points : Tensor, shape (B, n, D)
        Centred clouds.
    lists : NeighborLists or ChunkedLists
        Neighbour lists of the batch.

    Returns
    -------
    Tensor, shape (B, 1)
        Whole numbers in the dtype of the points.
    """
    n, D = points.shape[1:]
    if isinstance(lists, NeighborLists) and lists.complete:
        lists = nearest(lists, points, min(n, _COMPLETE_NEIGHBORS))
    k = lists.length
    if lists.complete:  # every neighbourhood is the whole cloud
        spectrum = _mean_relative_spectrum([(points.unsqueeze(1), None)])
    else:
        most = min(_MAX_POINTS, 4 * BLOCK // (k * D))
        count = max(_MIN_POINTS, min(_COVER * n // k, most))
        rows = representatives(points, count, lists.sum_of_squares)
        spectrum = _mean_relative_spectrum(_neighborhoods(points, lists, rows))
    spectrum = spectrum[..., : min(k, D)]
    thresholds = torch.from_numpy(_thresholds(spectrum.shape[-1], k)).to(spectrum)
    counts = (spectrum > thresholds).to(points.dtype).cumprod(-1)
    return counts.sum(-1, keepdim=True).clamp_min_(1)


def _neighborhoods(
    points: Tensor, lists: NeighborLists | ChunkedLists, rows: Tensor
) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Yield the neighbours of rows (B, m), (B, m', k, D), with their weights (B, m', k)."""
    flat = points.flatten(0, 1)
    index, share = lists.of_rows(rows)
    if share is None:
        yield flat[index], None
        return
    # lists with ties can be much longer than others
    size = max(1, 4 * BLOCK // (index.shape[-1] * flat.shape[-1]))
    for part, own in zip(index.split(size, 1), share.split(size, 1), strict=True):
        yield flat[part], own


@lru_cache(maxsize=1024)
def _thresholds(count: int, k: int) -> np.ndarray:
    """Return the share of the largest variance from which directions 1 to `count` count."""
    root = np.sqrt(np.arange(1, count + 1) / k)
    shares: np.ndarray = np.maximum(_SHARE * ((1 - root) / (1 + root)) ** 2, _SHARE_OF_LARGEST)
    return shares


def _mean_relative_spectrum(blocks: Iterable[tuple[Tensor, Tensor | None]]) -> Tensor:
    """Average covariance eigenvalues relative to the largest: (B, min(k, D)), in descending order.

    Blocks are neighbourhoods (B, m, k, D) with the weights of the neighbours (B, m, k).
    Neighbourhoods of copies of one point are left out.
    """
    total, count = torch.zeros(()), torch.zeros(())
    for neighborhoods, share in blocks:
        if share is None:
            centered = neighborhoods - neighborhoods.mean(-2, keepdim=True)
        else:
            weights = share / share.sum(-1, keepdim=True)
            centered = neighborhoods - weights.unsqueeze(-2) @ neighborhoods
            centered = centered * share.sqrt().unsqueeze(-1)
        k, D = centered.shape[-2:]
        small = centered @ centered.mT if k < D else centered.mT @ centered
        values = torch.linalg.eigvalsh(small)
        largest = values[..., -1:]
        # copies of a point vary by rounding errors only, in clouds whose extent is about one
        real = largest > k * (64 * torch.finfo(values.dtype).eps) ** 2
        total = torch.where(real, values / largest, 0.0).sum(1) + total
        count = real.sum(1) + count
    mean: Tensor = total / count.clamp_min(1)
    return mean.flip(-1)


def slope_dimension(points: Tensor) -> Tensor:
    """Return twice the steepest slope of log S against log ε, with ρ = r₀: (B,)."""
    count = min(_SLOPE_SCALE_NEIGHBORS, points.shape[1])
    r0 = local_scale(neighbor_lists(points, count).nearest_sq(count))
    return torch.stack([2 * steepest(*wide)[1] for wide in wide_exponents(points, r0)])


def estimate_dimension(
    points: CloudLike,
    method: Literal["projector", "local-pca", "slope"] | None = None,
    neighbors: int | None = None,
) -> float:
    """Estimate the intrinsic dimension of one cloud.

    Parameters
    ----------
    points : array-like or tensor, shape (n, D)
        The cloud.
    method : {"projector", "local-pca", "slope"} or None, default None
        None is "local-pca" if `neighbors` is given, and "projector" otherwise. "projector" takes
        the rank of the projectors that covariances of neighbourhoods are nearest to, at the
        neighbourhood size where they are nearest; it is the estimate of
        :func:`pointforms.gram_field`. "local-pca" counts the directions in which neighbourhoods
        vary. "slope" is twice the steepest growth of the kernel sum (Berry and Harlim), over 256
        neighbours, and need not be a whole number.
    neighbors : int or None, default None
        Number of points in each neighbourhood, the point itself included; for "local-pca" only,
        where None takes 32.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> sphere = pf.manifolds.sphere(500, np.random.default_rng(0))
    >>> pf.geometry.estimate_dimension(sphere.points)
    2.0
    """
    if method is None:
        method = "projector" if neighbors is None else "local-pca"
    check_choice("method", method, "projector", "local-pca", "slope")
    if neighbors is not None:
        check_int("neighbors", neighbors, at_least=2, or_else="None")
        if method != "local-pca":
            raise ValueError(
                f"neighbors={neighbors} has no effect with method={method!r}: leave it out"
            )
    cloud = as_cloud(points)
    if method == "projector":
        return float(nearest_rank(Evidence(cloud).angles())[0])
    if method == "slope":
        return float(slope_dimension(own_units(cloud.unsqueeze(0))[0]))
    return float(local_pca_dimensions(cloud.unsqueeze(0), neighbors or 32)[0])

"""The public functions that make Gram fields, of one cloud or of many."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Literal, TypeVar

import torch
from torch import Tensor

from pointforms.clouds import CloudLike, Clouds, as_cloud, as_clouds
from pointforms.geometry.cache import FieldCache
from pointforms.geometry.estimate import estimate_geometry
from pointforms.geometry.factor import gram_factors
from pointforms.geometry.field import GramField
from pointforms.geometry.neighbor_count import choose_neighbors
from pointforms.geometry.neighbors import BLOCK
from pointforms.geometry.settings import BandwidthPolicy, Center, GramSettings, Search, Spectrum
from pointforms.support.progress import track


def gram_field(
    points: CloudLike,
    neighbors: int | Literal["auto"] = 32,
    dimension: int | None = None,
    bandwidth: float | Literal["auto"] = 1.0,
    bandwidth_policy: BandwidthPolicy = "variable",
    bandwidth_units: Literal["local", "absolute"] | float = "local",
    alpha: float = 0.0,
    beta: float = -0.5,
    density_neighbors: int | None = None,
    center: Center = "mean",
    calibrate: bool | Literal["point"] = True,
    truncation: bool = True,
    spectrum: Spectrum = "raw",
    rank: int | None = None,
    search: Search = "auto",
) -> GramField:
    """Estimate the Gram field of one cloud.

    At each point

        G(p_i) = 1 / (2 ε ρ_i² τ_i)  Σ_j K̂_ij (p_j - c_i)(p_j - c_i)ᵀ ,

    with the variable-bandwidth diffusion kernel K̂ of Berry and Harlim on the neighbour lists, c_i
    the kernel mean, and τ_i the share of the second moment that the cut at the last neighbour
    keeps. On a sample of a manifold G tends to the projector on the tangent space.

    The field is symmetric and positive semidefinite, and satisfies

    - G(RX + t) = R G(X) Rᵀ for rotations R and translations t,
    - G(sX) = G(X) for scales s > 0 (except with absolute or length units),
    - G of permuted points is the permuted G.

    It is not differentiated with respect to the points: gradients stop here.

    Parameters
    ----------
    points : (n, D)
        Array-like or tensor, on any device; float32 stays float32, all else becomes float64.
    neighbors : int or "auto"
        Points in each neighbourhood, the point itself included; all of a smaller cloud.
        "auto" chooses 16 to 256 by the noise and curvature of the data.
    dimension : int or None
        Intrinsic dimension d. None estimates it by local PCA.
    bandwidth : float or "auto"
        ε, a pure number in local units, where 1 is right. "auto" is Berry and Harlim's rule.
    bandwidth_policy : "variable" or "fixed"
        ρ = q₀^β, wider where points are sparse, or ρ constant.
    bandwidth_units : "local", "absolute" or float
        geomean(ρ) follows the sample spacing; or ρ is left in absolute units, as in the paper;
        or geomean(ρ) is the given length.
    alpha, beta : float
        Exponents of the density normalisation and of the bandwidth function. α = 0 skips it.
    density_neighbors : int or None
        k₀, points (with the point itself) that set the local scale. None is a quarter of the
        neighbours, at least 8.
    center : "mean" or "point"
        c_i: the kernel mean, far better under noise, or p_i, the carré du champ of the paper.
    calibrate : bool or "point"
        One factor a cloud that makes the mean trace d, none, or one factor a point.
    truncation : bool
        Divide by τ. Nothing is cut, and nothing corrected, when all points are neighbours.
    spectrum : "raw" or "projector"
        Keep G, or replace it by the projector on its top-d eigenspace.
    rank : int or None
        Keep the leading directions only; `discarded_trace` says what was lost.
    search : "auto", "tree", "brute" or "approximate"
        How neighbours are found. "auto" goes by size and dimension.

    Returns
    -------
    GramField

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> t = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> field = pf.gram_field(np.c_[np.cos(t), np.sin(t)], spectrum="projector")
    >>> field.dimension
    1
    >>> bool(abs(field.matrix()[0, 1, 1] - 1) < 1e-6)  # the tangent at (1, 0) is dy
    True

    References
    ----------
    Berry and Harlim, Variable bandwidth diffusion kernels, ACHA 40 (2016).
    """
    settings = GramSettings.among(locals())
    cloud = as_cloud(points)
    settings.check_width(cloud.shape[1])
    resolved = resolve_neighbors(cloud, settings)
    field = _fields_of_batch(cloud.unsqueeze(0), resolved)[0]
    return field if resolved is settings else replace(field, settings=settings)


def gram_fields(
    clouds: Iterable[CloudLike] | Clouds,
    neighbors: int | Literal["auto"] = 32,
    dimension: int | None = None,
    bandwidth: float | Literal["auto"] = 1.0,
    bandwidth_policy: BandwidthPolicy = "variable",
    bandwidth_units: Literal["local", "absolute"] | float = "local",
    alpha: float = 0.0,
    beta: float = -0.5,
    density_neighbors: int | None = None,
    center: Center = "mean",
    calibrate: bool | Literal["point"] = True,
    truncation: bool = True,
    spectrum: Spectrum = "raw",
    rank: int | None = None,
    search: Search = "auto",
    n_jobs: int | None = None,
    progress: bool = False,
    cache: str | os.PathLike[str] | None = None,
) -> list[GramField]:
    """Gram fields of many clouds: as :func:`gram_field` of each, batched by size.

    Every cloud is checked before the first is computed.

    Parameters
    ----------
    clouds : list of (n_i, D), or Clouds
    neighbors, ..., search
        As in :func:`gram_field`.
    n_jobs : int or None
        Threads that share the batches; -1 is one a core. None works in the calling thread.
    progress : bool
        Show a progress bar.
    cache : path or None
        A folder that keeps the fields, keyed by content and settings.
    """
    settings = GramSettings.among(locals())
    workers = _check_jobs(n_jobs)
    checked = as_clouds(clouds)
    settings.check_width(checked[0].shape[1])
    store = None if cache is None else FieldCache(Path(cache))

    found: list[GramField | None] = [None] * len(checked)
    if store is not None:
        with track(len(checked), "Reading the cache", progress) as advance:
            for i, cloud in enumerate(checked):
                found[i] = store.load(cloud, settings)
                advance(1)
    missing = [i for i, field in enumerate(found) if field is None]
    resolved = [settings] * len(missing)
    if settings.neighbors == "auto":
        with track(len(missing), "Neighbour counts", progress) as advance:
            for j, one in enumerate(
                _run(lambda i: resolve_neighbors(checked[i], settings), missing, workers)
            ):
                resolved[j] = one
                advance(1)

    def compute(batch: _Batch) -> _Batch:
        rows, options = batch
        fields = _fields_of_batch(torch.stack([checked[i] for i in rows]), options)
        for i, field in zip(rows, fields, strict=True):
            found[i] = field = replace(field, settings=settings)
            if store is not None:
                store.save(checked[i], settings, field)
        return batch

    batches = _batches(checked, missing, resolved)
    with track(len(missing), "Gram fields", progress) as advance:
        for rows, _ in _run(compute, batches, workers):
            advance(len(rows))
    return [field for field in found if field is not None]


_Batch = tuple[list[int], GramSettings]
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def resolve_neighbors(cloud: Tensor, settings: GramSettings) -> GramSettings:
    """Settings with a number in place of neighbors="auto"."""
    if settings.neighbors != "auto":
        return settings
    return replace(settings, neighbors=choose_neighbors(cloud, settings.dimension))


def _batches(clouds: list[Tensor], rows: list[int], options: list[GramSettings]) -> list[_Batch]:
    """Clouds of one size, precision and neighbour count together, as many as fit the cache."""
    groups: dict[tuple[int, torch.dtype, GramSettings], list[int]] = defaultdict(list)
    for i, settings in zip(rows, options, strict=True):
        groups[len(clouds[i]), clouds[i].dtype, settings].append(i)
    batches = []
    for (n, _, settings), members in groups.items():
        count = max(1, BLOCK // (n * settings.list_length(n)))
        batches += [(members[s : s + count], settings) for s in range(0, len(members), count)]
    return batches


def _run(
    compute: Callable[[_Item], _Result], items: list[_Item], workers: int
) -> Iterator[_Result]:
    if workers == 1 or len(items) < 2:
        yield from map(compute, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(compute, items)


def _check_jobs(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0 or n_jobs < -1:
        raise ValueError(f"n_jobs={n_jobs!r}: expected None, -1 or a positive whole number")
    return (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs)


def _fields_of_batch(points: Tensor, settings: GramSettings) -> list[GramField]:
    """Gram fields of a batch of clouds of one size (B, n, D)."""
    geometry = estimate_geometry(points, settings)
    V, lost = gram_factors(geometry, settings)
    scale = geometry.scale()
    fields = []
    for b, d in enumerate(map(int, geometry.dimension.flatten().tolist())):
        # a batch is as wide as its largest d; a projector has exactly its own cloud's
        width = min(d, V.shape[-1]) if settings.spectrum == "projector" else V.shape[-1]
        parts = [points[b], V[b, ..., :width], geometry.log_density[b], scale[b], lost[b]]
        if len(points) > 1:  # copies, so that keeping (or pickling) one does not keep them all
            parts = [part.clone() for part in parts]
        fields.append(
            GramField(
                points=parts[0],
                factor=parts[1],
                log_density=parts[2],
                scale=parts[3],
                dimension=d,
                bandwidth=float(geometry.kernel.epsilon[b, 0]),
                neighbors=geometry.kernel.weights.shape[-1],
                discarded_trace=parts[4],
                settings=settings,
            )
        )
    return fields

"""Estimate Gram fields, of one cloud or of many: `gram_field` and `gram_fields`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

from torch import Tensor

from pointforms.cloud import CloudLike
from pointforms.clouds import Clouds
from pointforms.geometry.choice import Votes
from pointforms.geometry.field import GramField
from pointforms.geometry.geometry import Geometry, weighted_cloud
from pointforms.geometry.large import large_field, suits_large_field
from pointforms.geometry.settings import (
    BandwidthPolicy,
    Center,
    Dimension,
    GramSettings,
    Search,
    Spectrum,
    documents_options,
)
from pointforms.geometry.stream import field_stream
from pointforms.support.suggestions import suggests_parameters
from pointforms.support.threads import one_thread
from pointforms.weights import weights_of


@suggests_parameters
@documents_options
def gram_field(
    points: CloudLike,
    neighbors: int | Literal["auto"] = "auto",
    dimension: Dimension = None,
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
    *,
    weights: Any = None,
) -> GramField:
    """Estimate the Gram field of one cloud.

    At each point

        G(p_i) = 1 / (2 ε ρ_i² τ_i)  Σ_j K̂_ij (p_j - c_i)(p_j - c_i)ᵀ ,

    with the variable-bandwidth diffusion kernel K̂ of Berry and Harlim on the neighbour lists, the
    bandwidth function ρ, the kernel mean c_i, and τ_i, the share of the second moment that the cut
    at the last neighbour keeps. On a sample of a manifold G tends to the projector on the tangent
    space.

    The field is symmetric and positive semidefinite, and satisfies

    - G(RX + t) = R G(X) Rᵀ for rotations R and translations t,
    - G(sX) = G(X) for scales s > 0 (except with absolute or length units),
    - G of permuted points is the permuted G.

    The first and the last need distinct eigenvalues where `rank` or spectrum="projector" cuts:
    among equal ones, as on a grid, the directions that are kept are arbitrary.

    It is not differentiated with respect to the points: gradients stop here.

    Parameters
    ----------
    points : array-like or tensor, shape (n, D)
        The cloud, on any device. float32 stays float32, everything else becomes float64.
    [options of GramSettings]
    weights : array-like or tensor or None, shape (n,), default None
        The mass that each point stands for, such as the number of cells of a landmark. A point of
        weight w counts as w points in the density, in the kernel and in means over the cloud, but
        once in `neighbors`. None takes the weights that a cloud of :class:`Clouds` carries.

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
    cloud = weighted_cloud(points, weights)
    if suits_large_field(cloud, settings):
        return _field_of_large_cloud(cloud, settings)
    return Geometry(cloud, **vars(settings)).gram_field()


def _field_of_large_cloud(cloud: Tensor, settings: GramSettings) -> GramField:
    """Compute the Gram field of one large cloud, with the neighbours that the choice searched."""
    settings.check_width(cloud.shape[1])
    votes = Votes([cloud], settings)
    choice = votes.choose()
    choice.warn_if_doubtful()
    searched = votes.lists_in_chunks()
    del votes  # and the wide neighbourhoods that it holds
    field = large_field(cloud, choice.applied_to(settings), searched)
    return replace(field, settings=settings, agreement=choice.agreement, weights=weights_of(cloud))


@suggests_parameters
@documents_options
def gram_fields(
    clouds: Iterable[CloudLike] | Clouds,
    neighbors: int | Literal["auto"] = "auto",
    dimension: Dimension = None,
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
    """Estimate the Gram fields of many clouds, as :func:`gram_field` does of one.

    A neighbour count or a dimension that is not given is chosen once, for all clouds together: the
    larger half of the clouds votes, or 32 of them if there are more. Clouds of one size are
    computed as a batch. Every cloud is checked before the first is computed.

    Parameters
    ----------
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds, all with the same number of features D. Weights of the points of
        :class:`Clouds` count as in :func:`gram_field`.
    [options of GramSettings]
    n_jobs : int or None, default None
        Number of threads that share the batches; -1 uses one per core, None the calling thread.
    progress : bool, default False
        Show a progress bar on standard error.
    cache : path-like or None, default None
        A folder that keeps the fields, keyed by the content of the cloud and the options.

    Returns
    -------
    list of GramField
        One per cloud, in the same order.

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> rng = np.random.default_rng(0)
    >>> clouds = [rng.normal(size=(n, 3)) for n in (40, 60)]
    >>> [len(field) for field in pf.gram_fields(clouds, neighbors=16)]
    [40, 60]
    """
    settings = GramSettings.among(locals())
    with one_thread():
        return field_stream(clouds, settings, n_jobs, progress, cache).fields()

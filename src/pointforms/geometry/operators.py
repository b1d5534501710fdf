"""The diffusion generator L of a cloud, and the carré du champ Γ of functions on it.

Both accept every option of a Gram field, so that one set of options, such as PAPER_SETTINGS, serves
all three. Options that only shape the factor of the field (`spectrum` and `rank`, and for L also
`center`) have no effect on them.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from pointforms.clouds import CloudLike, as_cloud, as_tensor
from pointforms.geometry.estimate import Geometry, estimate_geometry
from pointforms.geometry.factor import (
    calibration,
    position_differences,
    squared_norm,
    weighted_differences,
)
from pointforms.geometry.gram import resolve_neighbors
from pointforms.geometry.kernel import exponents
from pointforms.geometry.settings import (
    BandwidthPolicy,
    Center,
    GramSettings,
    Search,
    Spectrum,
    documents_options,
)
from pointforms.support.suggestions import suggests_parameters


@suggests_parameters
@documents_options
def laplacian(
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
    calibrate: bool | Literal["point"] = False,
    truncation: bool = True,
    spectrum: Spectrum = "raw",
    rank: int | None = None,
    search: Search = "auto",
    symmetric: bool = False,
) -> Tensor:
    """Return the sparse generator L = (K̂ - I) / (ε ρ_i²) on the neighbour lists.

    L tends to Δ + c ∇log q · ∇ with c = 2 - 2α + dβ + 2β, which is the negative semidefinite
    Laplacian Δ where c = 0, for instance with α = 1/2 - d/4 and β = -1/2; at the default α = 0,
    for d = 2 only. Eigenfunctions and averages of L f converge early. Its values at single points
    are noisy and need hundreds of neighbours or a wider bandwidth. L satisfies

    - L 1 = 0,
    - ½(L(fh) - f Lh - h Lf) = Γ(f, h) ≥ 0 for f = h: the carré du champ with center="point".

    The options `center`, `spectrum` and `rank` of a Gram field are accepted and have no effect.

    Parameters
    ----------
    points : array-like or tensor, shape (n, D)
        The cloud. float32 stays float32, everything else becomes float64.
    [options of GramSettings]
    calibrate : bool or "point", default False
        Rescale L like the Gram field with the same option. Off by default, unlike there.
    symmetric : bool, default False
        False keeps the directed neighbour lists. True joins i and j where either lists the
        other, which makes π_i L_ij symmetric for some π > 0, so that L has real eigenvalues.

    Returns
    -------
    Tensor, shape (n, n)
        Sparse, with coalesced coordinates. `scipy.sparse.coo_array((L.values(), L.indices()))`
        converts it for SciPy.

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> points = np.random.default_rng(0).normal(size=(50, 3))
    >>> L = pf.laplacian(points, neighbors=16)
    >>> L.shape
    torch.Size([50, 50])
    >>> bool(L.sum(1).to_dense().abs().max() < 1e-9)
    True
    """
    settings = GramSettings.among(locals())
    geometry, settings = _geometry(points, settings)
    n = geometry.points.shape[1]
    rate = geometry.kernel.rate().flatten() * _factor(geometry, settings)
    own = torch.arange(n, device=rate.device)
    if symmetric:
        row, column, weight = _undirected(geometry, settings)
    else:
        k = geometry.kernel.weights.shape[-1]
        row = own.repeat_interleave(k)
        index = geometry.lists.index
        column = own.repeat(n) if index is None else index.flatten()
        weight = geometry.kernel.weights.flatten()
    values = torch.cat([weight * rate[row], -rate])
    places = torch.stack([torch.cat([row, own]), torch.cat([column, own])])
    return _sparse(places, values, (n, n))


@suggests_parameters
@documents_options
def carre_du_champ(
    f: Any,
    h: Any,
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
) -> Tensor:
    """Return Γ(f, h) ≈ ⟨∇f, ∇h⟩ at every point, for functions given by their values.

    Γ(f, h)_i = 1 / (2 ε ρ_i² τ_i) Σ_j K̂_ij (f_j - c_i(f))(h_j - c_i(h)), so that for the
    coordinates Γ(x_a, x_b) = G_ab, the (raw) Gram field with the same options. Like that field it
    is an estimate from data: gradients stop here.

    The options `spectrum` and `rank` of a Gram field are accepted and have no effect.

    Parameters
    ----------
    f : array-like or tensor, shape (n,)
        Values of the first function at the points.
    h : array-like or tensor, shape (n,)
        Values of the second function at the points.
    points : array-like or tensor, shape (n, D)
        The cloud. float32 stays float32, everything else becomes float64.
    [options of GramSettings]

    Returns
    -------
    Tensor, shape (n,)

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> t = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> circle = np.c_[np.cos(t), np.sin(t)]
    >>> gamma = pf.carre_du_champ(np.sin(t), np.sin(t), circle)  # |∇ sin t|² = cos² t
    >>> bool(np.abs(gamma.numpy() - np.cos(t) ** 2).max() < 0.01)
    True
    """
    settings = GramSettings.among(locals())
    geometry, settings = _geometry(points, settings)
    values = torch.stack([_checked_values(f, "f", geometry), _checked_values(h, "h", geometry)], -1)
    blocks = [
        columns[..., 0].mul(columns[..., 1]).sum(-1)
        for _, columns in weighted_differences(geometry, values.unsqueeze(0), settings.center)
    ]
    return torch.cat(blocks) * _factor(geometry, settings)


def _geometry(points: CloudLike, settings: GramSettings) -> tuple[Geometry, GramSettings]:
    cloud = as_cloud(points)
    settings.check_width(cloud.shape[1])
    settings = resolve_neighbors(cloud, settings)
    # functions may differ between copies of a point
    return estimate_geometry(cloud.unsqueeze(0), settings, merge=False), settings


def _checked_values(values: Any, name: str, geometry: Geometry) -> Tensor:
    n = geometry.points.shape[1]
    tensor = as_tensor(values, name).to(geometry.points)
    if tensor.shape != (n,):
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}: expected ({n},)")
    if not bool(torch.isfinite(tensor).all()):
        raise ValueError(f"{name} has non-finite values")
    return tensor


def _factor(geometry: Geometry, settings: GramSettings) -> Tensor:
    """Factor from 1 / ρ² in own units to the caller's units, with calibration: (1,) or (n,)."""
    per_area = 1.0 / geometry.unit.flatten().square()
    if settings.calibrate is False:
        return per_area
    blocks = position_differences(geometry, settings.center)
    trace = torch.cat([squared_norm(columns) for _, columns in blocks]).unsqueeze(0)
    return per_area * calibration(trace, geometry.dimension, settings.calibrate).flatten()


def _sparse(places: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    return torch.sparse_coo_tensor(
        places, values, shape, device=values.device, check_invariants=False
    ).coalesce()


def _undirected(geometry: Geometry, settings: GramSettings) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, columns and row-normalised weights on the union of the neighbour lists."""
    lists, kernel = geometry.lists, geometry.kernel
    n, k = kernel.weights.shape[1:]
    own = torch.arange(n, device=lists.sq.device)
    row = own.repeat_interleave(k)
    column = own.repeat(n) if lists.index is None else lists.index.flatten()
    K = torch.exp(exponents(lists, kernel.log_rho) / -kernel.epsilon.unsqueeze(-1)).flatten()
    K = K if lists.share is None else K * lists.share.flatten()
    # K_ij = K_ji up to rounding errors and shares: an edge listed from both ends is the larger
    edges = torch.cat([row * n + column, column * n + row])
    edges, entry = edges.unique(return_inverse=True)
    K = K.new_zeros(len(edges)).scatter_reduce(0, entry, K.repeat(2), "amax")
    row, column = edges // n, edges % n

    def row_sums(values: Tensor) -> Tensor:
        return values.new_zeros(n).index_add(0, row, values)

    if settings.alpha != 0.0:
        log_q = row_sums(K).log() - geometry.dimension[0] * kernel.log_rho[0]
        log_K = K.log() - settings.alpha * log_q[column]
        largest = log_K.new_full((n,), -torch.inf).scatter_reduce(0, row, log_K, "amax")
        K = torch.exp(log_K - largest[row])
    return row, column, K / row_sums(K)[row]

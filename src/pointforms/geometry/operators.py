"""The diffusion generator L of a cloud, and the carré du champ Γ of functions on it."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from pointforms.clouds import CloudLike, as_cloud, as_tensor
from pointforms.geometry.estimate import Geometry, estimate_geometry
from pointforms.geometry.factor import calibration, squared_norm, weighted_differences
from pointforms.geometry.gram import resolve_neighbors
from pointforms.geometry.kernel import exponents
from pointforms.geometry.settings import BandwidthPolicy, Center, GramSettings, Search, Spectrum


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
    """The sparse generator L = (K̂ - I) / (ε ρ_i²) on the neighbour lists.

    L tends to Δ + c ∇log q · ∇ with c = 2 - 2α + dβ + 2β, the negative semidefinite Laplacian
    where c = 0, for instance α = 1/2 - d/4 and β = -1/2.
    At the default α = 0 that is Δ itself only for d = 2. Eigenfunctions and averages of L f settle
    early; its values at single points are noisy and want hundreds of neighbours, or a wider
    bandwidth. L satisfies

    - L 1 = 0,
    - ½(L(fh) - f Lh - h Lf) = Γ(f, h) ≥ 0 for f = h: the carré du champ with center="point".

    Parameters
    ----------
    points, neighbors, ..., search
        As in :func:`pointforms.gram_field`. `center`, `spectrum` and `rank` shape the Gram
        field alone; they are taken so that one set of options serves both.
    calibrate : bool or "point"
        Here off by default: L is corrected for truncation only.
    symmetric : bool
        False keeps the directed neighbour lists. True joins i and j where either lists the
        other, which makes π_i L_ij symmetric for some π > 0: L has real eigenvalues.

    Returns
    -------
    (n, n) sparse tensor, coordinates coalesced; `scipy.sparse.coo_array((L.values(), L.indices()))`
    is the same for SciPy
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
    """Γ(f, h) ≈ ⟨∇f, ∇h⟩ at every point, for functions given by their values on the cloud.

    Γ(f, h)_i = 1 / (2 ε ρ_i² τ_i) Σ_j K̂_ij (f_j - c_i(f))(h_j - c_i(h)), so that for the
    coordinates Γ(x_a, x_b) = G_ab, the (raw) Gram field with the same options. Like that field it
    is an estimate from data: gradients stop here.

    Parameters
    ----------
    f, h : (n,)
    points : (n, D)
    neighbors, ..., search
        As in :func:`pointforms.gram_field`; `spectrum` and `rank` have no part in Γ.

    Returns
    -------
    (n,)
    """
    settings = GramSettings.among(locals())
    geometry, settings = _geometry(points, settings)
    values = torch.stack([_function(f, "f", geometry), _function(h, "h", geometry)], -1)
    blocks = [
        columns[..., 0].mul(columns[..., 1]).sum(-1)
        for _, columns in weighted_differences(geometry, values.unsqueeze(0), settings.center)
    ]
    return torch.cat(blocks) * _factor(geometry, settings)


def _geometry(points: CloudLike, settings: GramSettings) -> tuple[Geometry, GramSettings]:
    cloud = as_cloud(points)
    settings.check_width(cloud.shape[1])
    settings = resolve_neighbors(cloud, settings)
    return estimate_geometry(cloud.unsqueeze(0), settings), settings


def _function(values: Any, name: str, geometry: Geometry) -> Tensor:
    n = geometry.points.shape[1]
    tensor = as_tensor(values, name).to(geometry.points)
    if tensor.shape != (n,):
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}: expected ({n},)")
    if not bool(torch.isfinite(tensor).all()):
        raise ValueError(f"{name} has non-finite values")
    return tensor


def _factor(geometry: Geometry, settings: GramSettings) -> Tensor:
    """From 1 / ρ² in own units to the caller's, with the field's calibration: (1,) or (n,)."""
    per_area = 1.0 / geometry.unit.flatten().square()
    if settings.calibrate is False:
        return per_area
    blocks = weighted_differences(geometry, geometry.points, settings.center)
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
    # K_ij = K_ji, so an edge listed from both ends is the mean of the two
    places = torch.stack([torch.cat([row, column]), torch.cat([column, row])])
    both = torch.stack([K, torch.ones_like(K)], -1).repeat(2, 1)
    edges = _sparse(places, both, (n, n, 2))
    row, column = edges.indices()
    K = edges.values()[:, 0] / edges.values()[:, 1]

    def row_sums(values: Tensor) -> Tensor:
        return values.new_zeros(n).index_add(0, row, values)

    if settings.alpha != 0.0:
        log_q = row_sums(K).log() - geometry.dimension[0] * kernel.log_rho[0]
        log_K = K.log() - settings.alpha * log_q[column]
        largest = log_K.new_full((n,), -torch.inf).scatter_reduce(0, row, log_K, "amax")
        K = torch.exp(log_K - largest[row])
    return row, column, K / row_sums(K)[row]

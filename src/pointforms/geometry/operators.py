"""The diffusion generator L of a cloud, and the carré du champ Γ of functions on it.

Both accept every option of a Gram field, so that one set of options, such as PAPER_SETTINGS, serves
all three. Options that only shape the factor of the field (`spectrum` and `rank`, and for L also
`center`) have no effect on them.
"""

from __future__ import annotations

from math import floor, log2
from typing import Any, Literal

import torch
from torch import Tensor

from pointforms.clouds import CloudLike, as_cloud
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
from pointforms.tensors import as_tensor


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
    rate = _rate(geometry, settings)
    if not bool((torch.isfinite(rate) & (rate > 0)).all()):
        raise ValueError(
            f"the generator, a rate per area, is beyond the range of {rate.dtype} for points with "
            f"an extent of {float(geometry.unit):.3g}, bandwidth={settings.bandwidth!r} and "
            f"bandwidth_units={settings.bandwidth_units!r}: rescale the points"
        )
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
    f, f_power = _checked_values(f, "f", geometry)
    h, h_power = _checked_values(h, "h", geometry)
    values = torch.stack([f, h], -1).unsqueeze(0)
    blocks = [
        columns[..., 0].mul(columns[..., 1]).sum(-1)
        for _, columns in weighted_differences(geometry, values, settings.center)
    ]
    factor, power = _factor(geometry, settings)
    gamma = _scaled(torch.cat(blocks).double() * factor, power + f_power + h_power)
    result = gamma.to(geometry.points.dtype)
    if not bool(torch.isfinite(result).all()):
        raise ValueError(
            f"the carré du champ, a product of f and h per area, exceeds the range of "
            f"{result.dtype}: rescale f, h or the points"
        )
    return result


def _geometry(points: CloudLike, settings: GramSettings) -> tuple[Geometry, GramSettings]:
    cloud = as_cloud(points)
    settings.check_width(cloud.shape[1])
    settings = resolve_neighbors(cloud, settings)
    # functions may differ between copies of a point
    return estimate_geometry(cloud.unsqueeze(0), settings, merge=False), settings


def _checked_values(values: Any, name: str, geometry: Geometry) -> tuple[Tensor, float]:
    """Check the values of a function and divide them by a power of two near the largest.

    Returns the quotients (n,) and the exponent of the power.
    """
    n = geometry.points.shape[1]
    tensor = as_tensor(values, name).to(geometry.points)
    if tensor.shape != (n,):
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}: expected ({n},)")
    if not bool(torch.isfinite(tensor).all()):
        raise ValueError(f"{name} has non-finite values")
    largest = float(tensor.abs().max())
    power = floor(log2(largest)) if largest > 0 else 0
    return _scaled(tensor.double(), -power).to(tensor), power


def _scaled(values: Tensor, power: float | Tensor) -> Tensor:
    """Return values times a power of two, which may itself exceed the floating-point range."""
    power = torch.as_tensor(power, dtype=torch.float64, device=values.device)
    half = (power / 2).floor()
    return values * torch.exp2(half) * torch.exp2(power - half)


def _factor(geometry: Geometry, settings: GramSettings) -> tuple[Tensor, Tensor]:
    """Return what turns 1 / ρ² from :meth:`Kernel.rate` to the caller's units, with calibration.

    Numbers (1,) or (n,), and the exponent (1,) of a power of two.
    """
    power = -2 * geometry.unit.double().flatten().log2()
    if settings.calibrate is False:
        return torch.ones_like(power), power + 2 * geometry.kernel.rate()[1].flatten()
    blocks = position_differences(geometry, settings.center)
    trace = torch.cat([squared_norm(columns) for _, columns in blocks]).unsqueeze(0)
    factor = calibration(trace, geometry.dimension, settings.calibrate)
    return factor.flatten().double(), power


def _rate(geometry: Geometry, settings: GramSettings) -> Tensor:
    """Return the factor from K̂ - I to L, in the caller's units: (n,)."""
    factor, power = _factor(geometry, settings)
    rate = _scaled(geometry.kernel.rate()[0].flatten().double() * factor, power)
    return rate.to(geometry.points.dtype)


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

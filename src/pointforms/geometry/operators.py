"""The diffusion generator L of a cloud, and the carré du champ Γ of functions on it.

Both accept every option of a Gram field, so that one set of options, such as PAPER_SETTINGS, serves
all three. Options that only shape the factor of the field (`spectrum` and `rank`, and for L also
`center`) have no effect on them. A :class:`pointforms.Geometry` computes both, and the field, for
a cloud that is needed more than once.
"""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from pointforms.cloud import CloudLike
from pointforms.geometry.geometry import Geometry
from pointforms.geometry.settings import (
    BandwidthPolicy,
    Center,
    Dimension,
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
    neighbors: int | Literal["auto"] = "auto",
    dimension: Dimension = None,
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
    *,
    weights: Any = None,
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
    weights : array-like or tensor or None, shape (n,), default None
        The mass that each point stands for, as in :func:`pointforms.gram_field`.

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
    return Geometry(points, **vars(settings), weights=weights).laplacian(symmetric, calibrate)


@suggests_parameters
@documents_options
def carre_du_champ(
    f: Any,
    h: Any,
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
) -> Tensor:
    """Return Γ(f, h) ≈ ⟨∇f, ∇h⟩ at every point, for functions given by their values.

    Γ(f, h)_i = 1 / (2 ε ρ_i² τ_i) Σ_j K̂_ij (f_j - c_i(f))(h_j - c_i(h)), so that for the
    coordinates Γ(x_a, x_b) = G_ab, the (raw) Gram field with the same options. Like that field it
    is an estimate from data: gradients stop here.

    The options `spectrum` and `rank` of a Gram field are accepted and have no effect.

    Parameters
    ----------
    f : array-like or tensor, shape (n,) or (n, a)
        Values of the first function at the points, or of a functions.
    h : array-like or tensor, shape (n,) or (n, b)
        Values of the second function at the points, or of b functions.
    points : array-like or tensor, shape (n, D)
        The cloud. float32 stays float32, everything else becomes float64.
    [options of GramSettings]
    weights : array-like or tensor or None, shape (n,), default None
        The mass that each point stands for, as in :func:`pointforms.gram_field`.

    Returns
    -------
    Tensor, shape (n, a, b)
        Each argument of shape (n,) drops its axis: two of them give (n,).

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> t = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> circle = np.c_[np.cos(t), np.sin(t)]
    >>> gamma = pf.carre_du_champ(np.sin(t), np.sin(t), circle)  # |∇ sin t|² = cos² t
    >>> bool(np.abs(gamma.numpy() - np.cos(t) ** 2).max() < 0.01)
    True
    >>> pf.carre_du_champ(np.c_[np.sin(t), np.cos(t), t], np.sin(t), circle).shape
    torch.Size([200, 3])
    """
    settings = GramSettings.among(locals())
    return Geometry(points, **vars(settings), weights=weights).carre_du_champ(f, h)

"""Geometry: neighbours, density and kernel of one cloud, estimated once."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from torch import Tensor

from pointforms.cloud import CloudLike, as_cloud
from pointforms.geometry.affinity import geometry_of_affinities
from pointforms.geometry.assemble import fields_of_geometry
from pointforms.geometry.batches import field_multiplications
from pointforms.geometry.choice import Votes
from pointforms.geometry.density import local_scale
from pointforms.geometry.estimate import BatchGeometry, estimate_geometry, geometry_of_lists
from pointforms.geometry.evidence import CANDIDATES
from pointforms.geometry.factor import caller_units, traces
from pointforms.geometry.field import GramField, density_within_range
from pointforms.geometry.generator import generator
from pointforms.geometry.gradient_products import gradient_products
from pointforms.geometry.graphs import Graph, graph_lists, graph_of
from pointforms.geometry.settings import (
    BandwidthPolicy,
    Center,
    Dimension,
    GramSettings,
    Search,
    Spectrum,
    documents_options,
)
from pointforms.geometry.units import own_units
from pointforms.support.checks import check_choice
from pointforms.support.suggestions import suggests_parameters
from pointforms.support.threads import threads_for
from pointforms.weights import (
    checked_weights,
    plain,
    relative_weights,
    weights_of,
    with_weights,
)

# Options that have no effect with a graph, and those that have none if it is the kernel.
_OPTIONS_OF_SEARCH = ("neighbors", "search")
_OPTIONS_OF_KERNEL = (
    "bandwidth",
    "bandwidth_policy",
    "bandwidth_units",
    "alpha",
    "beta",
    "truncation",
)


@documents_options
class Geometry:
    """Neighbours, density, dimension and kernel of one cloud, estimated once for many uses.

    The Gram field, the generator L and the carré du champ Γ are computed from it:

        M = pf.Geometry(points)
        M.gram_field(), M.laplacian(), M.carre_du_champ(f, h)

    give what :func:`pointforms.gram_field`, :func:`pointforms.laplacian` and
    :func:`pointforms.carre_du_champ` give for the same points and options.

    Like a Gram field, it has the attributes `points`, `dimension` (d, given or estimated) and its
    `agreement`, `neighbors` (the number of points in a neighbourhood, given or chosen), `bandwidth`
    (ε, given or chosen), `scale` (ρ at every point, a length), `density` and `log_density`, and
    `settings`, its options.

    The neighbourhoods can also come from a graph: `indices`, `distances` or `affinities`, at most
    one of them. Then `neighbors` and `search` must be left out, since every point has the
    neighbours that the graph gives it. Points tied at the end of a list do not share its places.
    Lists may differ in length; `M.neighbors` is then the median, and memory grows with n times the
    longest list.

    - From `indices` or `distances`, everything else is estimated as usual; the result is that of
      :func:`pointforms.gram_field` to rounding errors if the lists are the same. Distances in
      float32 change it by about 1e-7 of its size. `density_neighbors` counts listed points only,
      and bandwidth="auto" uses the Euclidean distances of the points.
    - `affinities`, normalised by row, are the kernel K̂ itself. They have no length scale, so ρ is
      the length with which G is calibrated, ε is 1, and calibrate=False is an error. `bandwidth`,
      `bandwidth_policy`, `bandwidth_units`, `alpha`, `beta` and `truncation` have nothing to act
      on, and must be left out. The density is that of the listed points by their distances.

    Parameters
    ----------
    points : array-like or tensor, shape (n, D)
        The cloud, on any device. float32 stays float32, everything else becomes float64.
    [options of GramSettings]
    indices : array-like or tensor of int or None, shape (n, k), default None
        Neighbours of every point, as returned by `kneighbors` of scikit-learn, by pynndescent or by
        faiss. The point itself may be listed anywhere, or not at all.
    distances : sparse matrix or sparse tensor or None, shape (n, n), default None
        Distances to the neighbours, such as `adata.obsp["distances"]` of scanpy or
        `kneighbors_graph(points, 15, mode="distance")` of scikit-learn. Every stored entry is a
        neighbour, also a stored 0; the diagonal may be stored or not. Dense arrays are refused,
        since they do not say which points are neighbours.
    affinities : sparse matrix or sparse tensor or None, shape (n, n), default None
        Nonnegative weights, such as `adata.obsp["connectivities"]` of scanpy or the kernel of
        graphtools. Positive entries are neighbours; the diagonal is used as it is. Dense arrays
        are refused; `scipy.sparse.csr_array` converts them.
    weights : array-like or tensor or None, shape (n,), default None
        The mass that each point stands for, such as the number of cells of a landmark. A point of
        weight w counts as w points in the density, in the kernel and in means over the cloud, but
        once in `neighbors`. None takes the weights that a cloud of :class:`Clouds` carries.

    Examples
    --------
    >>> import numpy as np, pointforms as pf
    >>> t = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> M = pf.Geometry(np.c_[np.cos(t), np.sin(t)], neighbors=16)
    >>> M
    Geometry(n=200, D=2, dimension=1, neighbors=16, bandwidth=1)
    >>> M.gram_field().matrix().shape, M.laplacian().shape
    (torch.Size([200, 2, 2]), torch.Size([200, 200]))
    >>> M.carre_du_champ(np.c_[np.sin(t), np.cos(t)], np.sin(t)).shape
    torch.Size([200, 2])

    The same from a graph of scikit-learn:

    >>> from sklearn.neighbors import kneighbors_graph
    >>> graph = kneighbors_graph(M.points, 15, mode="distance")
    >>> pf.Geometry(M.points, distances=graph)
    Geometry(n=200, D=2, dimension=1, neighbors=16, bandwidth=1)
    """

    @suggests_parameters
    def __init__(
        self,
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
        indices: Any = None,
        distances: Any = None,
        affinities: Any = None,
        weights: Any = None,
    ) -> None:
        settings = GramSettings.among(locals())
        cloud = weighted_cloud(points, weights)
        self.points, self.weights = plain(cloud), weights_of(cloud)
        mass = relative_weights(cloud)
        self._mass = None if mass is None else mass.unsqueeze(0)
        settings.check_width(self.points.shape[1])
        graph = graph_of(len(self.points), indices, distances, affinities)
        if graph is not None:
            settings = _settings_for(graph, settings)
        self.settings = settings
        self._of_graph = graph is not None
        self._work = field_multiplications(self.points, max(CANDIDATES))
        with threads_for(self._work):
            votes = Votes([cloud], settings)
            choice = votes.choose()
            choice.warn_if_doubtful()
            self._resolved = choice.applied_to(settings)
            searched = votes.lists(choice.neighbors)
            del votes  # and the wide neighbourhoods that it holds
            batch = self.points.unsqueeze(0)
            self._geometry = (
                estimate_geometry(batch, self._resolved, lists=searched, mass=self._mass)
                if graph is None
                else _geometry_of_graph(batch, graph, self._resolved, self._mass)
            )
        self.dimension, self.agreement = choice.dimension, choice.agreement
        self.neighbors = self._resolved.list_length(len(self.points))
        self.bandwidth = float(self._geometry.kernel.epsilon)
        self.log_density = self._geometry.log_density[0]
        self.scale = self._geometry.scale()[0]

    def __len__(self) -> int:
        return self.points.shape[0]

    def __repr__(self) -> str:
        n, D = self.points.shape
        return (
            f"Geometry(n={n}, D={D}, dimension={self.dimension}, neighbors={self.neighbors}, "
            f"bandwidth={self.bandwidth:.3g})"
        )

    @property
    def density(self) -> Tensor:
        """The sampling density q₀ (n,); `log_density` also has what exceeds the number range."""
        return density_within_range(self.log_density, self.dimension)

    def gram_field(self) -> GramField:
        """Return the Gram field, as :func:`pointforms.gram_field` does."""
        with threads_for(self._work):
            field = fields_of_geometry(self.points.unsqueeze(0), self._geometry, self._resolved)[0]
        # nobody else can compute the field of a graph again with other numbers
        settings = self._resolved if self._of_graph else self.settings
        return replace(field, settings=settings, agreement=self.agreement, weights=self.weights)

    def laplacian(
        self, symmetric: bool = False, calibrate: bool | Literal["point"] = False
    ) -> Tensor:
        """Return the sparse generator L (n, n), as :func:`pointforms.laplacian` does.

        Parameters
        ----------
        symmetric : bool, default False
            False keeps the directed neighbour lists. True joins i and j where either lists the
            other, which makes π_i L_ij symmetric for some π > 0, so that L has real eigenvalues.
        calibrate : bool or "point", default False
            Rescale L like a Gram field with this option. The option of the geometry itself does
            not act here: L = (K̂ - I) / (ε ρ²) unless asked otherwise. With affinities ρ comes from
            the calibration of the geometry, so False already gives a calibrated L.
        """
        check_choice("symmetric", symmetric, True, False)
        check_choice("calibrate", calibrate, True, False, "point")
        units = self._caller_units(calibrate)
        return generator(self._unmerged, self._resolved, symmetric, *units)

    def carre_du_champ(self, f: Any, h: Any) -> Tensor:
        """Return Γ(f, h) ≈ ⟨∇f, ∇h⟩ at every point, as :func:`pointforms.carre_du_champ` does.

        The neighbours are looked up once for all functions.

        Parameters
        ----------
        f : array-like or tensor, shape (n,) or (n, a)
            Values of the first function at the points, or of a functions.
        h : array-like or tensor, shape (n,) or (n, b)
            Values of the second function at the points, or of b functions.

        Returns
        -------
        Tensor, shape (n, a, b)
            Each argument of shape (n,) drops its axis: two of them give (n,).
        """
        units = self._caller_units(self.settings.calibrate)
        return gradient_products(self._unmerged, self.settings.center, f, h, *units)

    @cached_property
    def _unmerged(self) -> BatchGeometry:
        """The geometry with copies of a point listed one by one, since functions may differ there.

        The Gram field depends on positions only, and lists copies once where there are many.
        """
        if not self._geometry.lists.merged:
            return self._geometry
        return estimate_geometry(self.points.unsqueeze(0), self._resolved, merge=False)

    @cached_property
    def _trace(self) -> Tensor:
        return traces(self._unmerged, self.settings.center)

    def _caller_units(self, calibrate: bool | Literal["point"]) -> tuple[Tensor, Tensor]:
        return caller_units(self._unmerged, calibrate, self._trace if calibrate else None)


def weighted_cloud(points: CloudLike, weights: Any) -> Tensor:
    """Return a checked cloud (n, D) that carries weights, if they are not None."""
    cloud = as_cloud(points)
    if weights is None:
        return cloud
    return with_weights(cloud, checked_weights(weights, len(cloud)))


def _settings_for(graph: Graph, settings: GramSettings) -> GramSettings:
    """Return settings with the number of neighbours of a graph; refuse options that cannot act."""
    idle = _OPTIONS_OF_SEARCH + (_OPTIONS_OF_KERNEL if graph.kind == "affinities" else ())
    defaults = GramSettings()
    for name in idle:
        value = getattr(settings, name)
        if value != getattr(defaults, name):
            reason = (
                "are the neighbourhoods" if name in _OPTIONS_OF_SEARCH else "are the kernel itself"
            )
            raise ValueError(
                f"{name}={value!r} has no effect with {graph.kind}, which {reason}: leave it out"
            )
    if graph.kind == "affinities" and settings.calibrate is False:
        raise ValueError(
            "calibrate=False: affinities have no length scale, so expected True or 'point'"
        )
    return replace(settings, neighbors=graph.median_length)


def _geometry_of_graph(
    cloud: Tensor, graph: Graph, settings: GramSettings, mass: Tensor | None
) -> BatchGeometry:
    """Estimate the geometry of one cloud (1, n, D) on the lists of a graph."""
    x, unit = own_units(cloud)
    lists, affinities = graph_lists(graph, x, unit)
    lists = lists if mass is None else replace(lists, mass=mass.to(x))
    k0 = settings.density_list_length(x.shape[1])
    share = None if lists.share is None else lists.share[..., :k0]
    r0 = local_scale(lists.nearest_sq(k0), share)
    if affinities is None:
        return geometry_of_lists(x, unit, lists, r0, settings)
    return geometry_of_affinities(x, unit, lists, r0, affinities, settings)

"""The neural baselines as classifiers of clouds, trained like the point-forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from pointforms.clouds import cloud_list
from pointforms.estimators import PointFormClassifier
from pointforms.estimators.fits import Fit, Store
from pointforms.estimators.network_classifier import NetworkClassifier
from pointforms.estimators.saved_networks import restore_baseline
from pointforms.estimators.saved_state import SavedState
from pointforms.estimators.saved_values import Attribute, Labels
from pointforms.estimators.targets import Targets
from pointforms.models.batches import CloudStore, GraphStore
from pointforms.models.neighbor_graphs import Neighbors, cloud_graphs
from pointforms.models.pyramids import PyramidStore, cloud_pyramids
from pointforms.models.simplicial import SimplicialStore, cloud_complexes
from pointforms.support.blame import warn_caller
from pointforms.support.extras import need
from pointforms.weights import relative_weights

# Triangles grow with the cube of the neighbours, so complexes use at most this many.
_COMPLEX_NEIGHBORS = 8

# By name: what a network reads, its module, and its class.
NETWORKS: dict[str, tuple[Literal["points", "graph", "complex", "pyramid"], str, str]] = {
    "mlp": ("points", "point_networks", "MLP"),
    "set-transformer": ("points", "point_networks", "SetTransformer"),
    "attention-mil": ("points", "point_networks", "AttentionMIL"),
    "pointnet": ("points", "point_networks", "PointNet"),
    "pointnet++": ("pyramid", "hierarchical_networks", "PointNetPlusPlus"),
    "point-transformer": ("pyramid", "hierarchical_networks", "PointTransformer"),
    "gcn": ("graph", "graph_networks", "GCN"),
    "gin": ("graph", "graph_networks", "GIN"),
    "deep-gin": ("graph", "graph_networks", "DeepGIN"),
    "graphsage": ("graph", "graph_networks", "GraphSAGE"),
    "graph-transformer": ("graph", "graph_networks", "GraphTransformer"),
    "tdl": ("complex", "simplicial", "SimplicialNetwork"),
}

# By what a network reads: the store of its batches.
_STORES: dict[str, Any] = {
    "points": CloudStore,
    "graph": GraphStore,
    "complex": SimplicialStore,
    "pyramid": PyramidStore,
}


def network_class(name: str) -> Any:
    """Return the class of a network, whose constructor takes features and outputs."""
    check_network(name)
    _, module, cls = NETWORKS[name]
    return resolve_name(f"pointforms.models.{module}:{cls}")


def check_network(name: str) -> None:
    """Raise an error if there is no such network, or if what it needs is not installed.

    Nothing is imported: PyTorch Geometric takes seconds, and makes a folder for temporary files.
    """
    if name not in NETWORKS:
        raise ValueError(f"network={name!r}: expected one of {tuple(NETWORKS)}")
    needs_extra = NETWORKS[name][1] in ("graph_networks", "hierarchical_networks")
    if needs_extra and find_spec("torch_geometric") is None:
        need("torch_geometric", "graph")  # raises an error that says how to install it


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralClassifier(NetworkClassifier):
    """A baseline network on clouds: point networks, graph networks, a simplicial network.

    Networks ignore the weights of points, and `fit` warns where there are any.

    Parameters
    ----------
    network : str, default "mlp"
        "mlp", "set-transformer", "attention-mil", "pointnet", "pointnet++", "point-transformer",
        "gcn", "gin", "deep-gin", "graphsage", "graph-transformer" or "tdl".
    neighbors : int or "auto", default "auto"
        Number of nearest neighbours of a point in the graphs, not counting itself. "auto" is the
        square root of the number of points of a cloud, at most 32: with a fixed number, the graphs
        of small clouds are complete. "tdl" takes at most 8 neighbours, "pointnet++" and
        "point-transformer" at most 16, which "auto" is for these two.
    epochs : int, default 60
        Largest number of passes over the training clouds.
    batch_size : int, default 32
        Largest number of clouds per step; the clouds of an epoch are shared out evenly.
    learning_rate : float, default 3e-3
        Largest step size of AdamW.
    weight_decay : float or "auto", default 1.0
        Weight decay of AdamW, of matrices only. "auto" trains with several and keeps the one of the
        smallest loss on held-out clouds.
    scale : {"standard", "isotropic", "robust"} or None, default "standard"
        Units of the features, learned from the training clouds and applied before neighbours are
        searched; None takes the features as they are.
    components : int or None, default None
        Project the scaled clouds to this many principal components of the training points.
    frame : {"absolute", "cloud", "shape", "both", "batch"}, default "absolute"
        What the network reads: positions of points, or relative to the mean of the cloud, the same
        in units of its spread, both, or relative to the mean of the cloud's batch.
    members : int, default 1
        Number of networks whose predictions are averaged.
    validation_fraction : float, default 0.15
        Share of the training clouds on which the best epoch is chosen; 0 chooses it on the training
        clouds themselves.
    patience : int, default 20
        Stop after this many epochs without a better validation loss, or after a quarter of that, at
        least five, if the training loss was below 0.005 in all of these.
    points_per_epoch : int, optional
        Number of points per cloud that an epoch uses (default: all). Not for graph networks.
    random_state : int, RandomState or None, default None
        Makes the fit repeat.
    device : str, default "cpu"
        Torch device.
    dtype : {"float32", "float64"}, default "float32"
        Precision of the network.
    progress : bool, default False
        Show a progress bar.
    class_weight : "balanced", dict or None, default None
        Weights of the classes in the training loss; the validation loss has none.

    Examples
    --------
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=20, points=8)
    >>> model = pf.models.NeuralClassifier(network="mlp", epochs=2, random_state=0)
    >>> model.fit(task.clouds, task.labels).predict_proba(task.clouds[:3]).shape
    (3, 2)
    """

    network: str = "mlp"
    neighbors: Neighbors = "auto"

    # Attributes of a fitted classifier that are saved beside its network.
    _learned: ClassVar[dict[str, Attribute]] = {
        name: attribute
        for name, attribute in PointFormClassifier._learned.items()
        if name not in ("neighbors_", "dimension_", "given_geometry_", "covariates_", "classes_")
    } | {"classes_": Attribute(Labels)}

    def check_options(self) -> None:
        """Raise an error for options that no fit can work with."""
        super().check_options()
        check_network(self.network)
        if self.points_per_epoch is not None and self.reads != "points":
            raise ValueError(
                f"points_per_epoch={self.points_per_epoch!r}: expected None, since {self.network} "
                "needs all points of a cloud"
            )

    @property
    def reads(self) -> str:
        """What the network reads: "points", "graph", "complex" or "pyramid"."""
        return NETWORKS[self.network][0]

    def prepare(self, clouds: Any) -> Sequence[Any]:
        """Return checked clouds, or their graphs; graphs are returned as they are."""
        clouds, units = self._by_name(cloud_list(clouds)), self.units
        if hasattr(clouds[0], "points") and self.reads != "points":
            return self._graphs(clouds)
        points = self._in_units(clouds)
        if self.reads == "points" or self._awaits_units():
            return points
        graphs = self._graphs(points if units is None else units.scaled(points))
        # graphs of scaled clouds, on the clouds in their own units, which the store scales
        return [replace(graph, points=own) for graph, own in zip(graphs, points, strict=True)]

    def _graphs(self, clouds: Any) -> list[Any]:
        """Return the graphs, complexes or pyramids of clouds, which are returned as they are."""
        if self.reads == "complex":
            return cloud_complexes(clouds, self.neighbors, _COMPLEX_NEIGHBORS)
        if self.reads == "pyramid":
            network = network_class(self.network)
            most = network.neighbors
            count = most if self.neighbors == "auto" else min(self.neighbors, most)
            return cloud_pyramids(clouds, network.ratios, count)
        return cloud_graphs(clouds, self.neighbors)

    def make_store(
        self,
        prepared: Sequence[Any],
        origin: Tensor | None = None,
        centers: Tensor | None = None,
    ) -> Store:
        """Return prepared clouds as tensors, from which batches are gathered."""
        dtype = getattr(torch, self.dtype)
        options = self._store_options(origin, centers)
        store: Store = _STORES[self.reads](prepared, dtype, self.device, **options)
        return store

    def _new_model(self, outputs: int) -> nn.Module:
        model: nn.Module = network_class(self.network)(self._inputs(), outputs)
        return model

    def _fit(
        self,
        clouds: Any,
        targets: Targets,
        groups: Any,
        covariates: Any = None,
        batch: Any = None,
    ) -> None:
        if any(relative_weights(cloud) is not None for cloud in clouds):
            warn_caller(
                f"{self.network} ignores the weights of the points: every point counts the same"
            )
        super()._fit(clouds, targets, groups, covariates, batch)

    def _standardize(self, model: Any, store: Any, fit: Fit) -> None:
        model.standardize(*store.moments(fit.train), store.origin)

    @classmethod
    def _from_saved(cls, state: SavedState) -> Self:
        restored: Self = restore_baseline(cls, state)
        return restored

"""The options of the point-form estimators, with their defaults and documentation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Annotated, Any, Literal

from pointforms.estimators.network_estimator import NetworkEstimator
from pointforms.geometry.field import Measure
from pointforms.geometry.settings import (
    BandwidthPolicy,
    Center,
    Dimension,
    GramSettings,
    Search,
    Spectrum,
    documents_options,
)
from pointforms.nn.point_forms import CoefficientKind
from pointforms.nn.readouts import ReadoutName
from pointforms.support.docstring_entries import insert_entries
from pointforms.support.options import Bounds, Count, NotEmpty
from pointforms.support.suggestions import suggests_parameters

# The line of a docstring that stands for the entries of all options.
_PLACEHOLDER = "[options of PointFormEstimator]"

Degree = Annotated[int, Bounds(at_least=0)]
Place = Annotated[int, Bounds(at_least=0)]


@documents_options
@dataclass(kw_only=True, eq=False, repr=False)
class PointFormOptions(NetworkEstimator):
    """The options that all point-form estimators have.

    Parameters
    ----------
    degree : int or sequence of int, default 1
        Degree k of the forms, at most D. With several degrees, such as (0, 1, 2), there are `forms`
        forms of each, and their readouts are concatenated.
    forms : int, default 8
        Number of forms per degree, l.
    readout : {"tri", "flat", "diag", "pool", "gram"}, default "tri"
        How the l × l comparison matrix becomes a vector: its upper triangle, all entries, the
        diagonal, summaries that do not depend on the order of the forms, or log-energies and
        correlations.
    coefficients : {"dense", "wedge"}, default "dense"
        "dense" learns one coefficient per basis form, C(D, k) in all; "wedge" learns sums of
        `terms` products of 1-forms, which stay small in many dimensions.
    terms : int, default 2
        Number of terms of each wedge form.
    sees : {"all", "own"} or sequence of str or int, default "all"
        The features that the coefficient of dx^I reads: all; with "own" those in I alone, so that
        other features change what dx^I adds only through the geometry; or the features with these
        names or places. Forms of degree 0 have no features of their own, and read all with "own".
        Of clouds that are projected to `components`, it is components that are read.
    hidden : sequence of int, default (64, 64)
        Widths of the hidden layers of the network that returns the coefficients. With sees="own",
        the networks of the basis forms share them out, with at least 8 units each.
    head : int, default 32
        Width of the hidden layer of the head; 0 makes the head linear.
    measure : {"uniform", "volume", "volume-normalized"}, default "uniform"
        Weights of the points in a comparison matrix. The latter two correct for the sampling
        density, and "volume-normalized" makes the weights sum to 1.
    neighbors : int or "auto", default "auto"
        Number of points in each neighbourhood, the point itself included; a smaller cloud is its
        own neighbourhood. "auto" uses one number for all clouds, which the training clouds choose,
        stored as `neighbors_`.
    dimension : int, "local-pca" or None, default None
        Intrinsic dimension d. None and "local-pca" use one d for all clouds, estimated from the
        training clouds in either way of :func:`pointforms.gram_fields`, stored as `dimension_`.
    [options of GramSettings]
    epochs : int, default 60
        Largest number of passes over the training clouds. The learning rate falls to 0 along a
        cosine.
    batch_size : int, default 32
        Largest number of clouds per step; the clouds of an epoch are shared out evenly.
    learning_rate : float, default 0.003
        Initial learning rate of AdamW.
    weight_decay : float or "auto", default 1.0
        Weight decay of AdamW, of matrices only. "auto" trains with several and keeps the one of the
        smallest loss on held-out clouds.
    scale : {"standard", "isotropic", "robust"} or None, default "standard"
        Units of the features, learned from the training clouds and applied before neighbours are
        searched: each feature divided by its standard deviation, all by one number, which suits
        coordinates of space, or each by its interquartile range. None takes the features as they
        are. Gram fields that are given instead of clouds keep their geometry.
    components : int or None, default None
        Project the scaled clouds to this many principal components of the training points.
    frame : {"absolute", "cloud", "shape", "both", "batch"}, default "absolute"
        What the coefficients of the forms depend on: the position of a point; its position relative
        to the mean of its cloud; the same in units of the cloud's spread; position and relative
        position; its position relative to the mean of the cloud's batch, given as `batch`. The
        geometry of a cloud does not depend on it.
    members : int, default 1
        Number of networks whose predictions are averaged. Each has its own seed and holds out
        another part of the training clouds. All keep the epoch of the smallest loss over all
        held-out clouds.
    validation_fraction : float, default 0.15
        Share of the training clouds that a single network holds out to choose the best epoch; 0
        chooses it on the training clouds themselves. If the share is less than 24 clouds, networks
        trained on parts of the clouds choose the epoch together, by what they predict for all of
        them, and the network that is kept is trained on all clouds.
    patience : int, default 20
        Stop after this many epochs without a better validation loss, or after fewer, by the root of
        the number of parts, where it is the loss of several parts. A classifier stops after a
        quarter of that, at least five epochs, if its training loss was below 0.005 in all of these.
    points_per_epoch : int or None, default None
        Train each epoch on this many random points of each larger cloud. Geometry and prediction
        use all points.
    random_state : int, RandomState or None, default None
        Seed of the initial parameters, the batches and the validation split.
    device : str, default "cpu"
        Where to train and predict, as torch names it.
    dtype : {"float32", "float64"}, default "float32"
        Precision of training and prediction.
    cache : path-like or None, default None
        A folder that keeps Gram fields, keyed by the content of the cloud and the options.
    n_jobs : int or None, default None
        Number of threads that compute Gram fields; -1 uses one per core, None the calling thread.
    progress : bool, default False
        Show progress bars.
    class_weight : "balanced", dict or None, default None
        Weights of the classes in the training loss: None weighs all clouds equally, "balanced" all
        classes, and a dictionary maps labels to weights. The validation loss that chooses the
        epoch has no weights. Regression accepts only None.
    """

    degree: Degree | Annotated[Sequence[Degree], NotEmpty()] = 1
    forms: Count = 8
    readout: ReadoutName = "tri"
    coefficients: CoefficientKind = "dense"
    terms: Count = 2
    sees: Literal["all", "own"] | Annotated[Sequence[str | Place], NotEmpty()] = "all"
    hidden: Sequence[Count] = (64, 64)
    head: Annotated[int, Bounds(at_least=0)] = 32
    measure: Measure = "uniform"
    neighbors: int | Literal["auto"] = "auto"
    dimension: Dimension = None
    bandwidth: float | Literal["auto"] = 1.0
    bandwidth_policy: BandwidthPolicy = "variable"
    bandwidth_units: Literal["local", "absolute"] | float = "local"
    alpha: float = 0.0
    beta: float = -0.5
    density_neighbors: int | None = None
    center: Center = "mean"
    calibrate: bool | Literal["point"] = True
    truncation: bool = True
    spectrum: Spectrum = "raw"
    rank: int | None = None
    search: Search = "auto"
    cache: str | os.PathLike[str] | None = None
    n_jobs: Literal[-1] | Count | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = insert_estimator_options(cls.__doc__ or "")

    def degrees(self) -> tuple[int, ...]:
        """Return the degrees of the forms, also where there is one."""
        degree: Any = self.degree
        return (int(degree),) if isinstance(degree, Integral) else tuple(degree)

    def check_options(self) -> None:
        """Raise an error if an option has a value that no fit can work with."""
        super().check_options()
        GramSettings.among(self.get_params(deep=False))
        degrees = self.degrees()
        if isinstance(self.sees, str) and self.sees == "own" and max(degrees) == 0:
            raise ValueError(
                f'degree={self.degree!r} with sees="own": forms of degree 0 have no features of '
                "their own; expected a higher degree among them"
            )
        if self.rank is not None and max(degrees) > self.rank:
            raise ValueError(
                f"degree={self.degree!r} with rank={self.rank}: all forms of a degree above the "
                "rank of the Gram field are zero"
            )
        if self.spectrum == "projector" and isinstance(self.dimension, int):
            check_projector(max(degrees), self.dimension)


PointFormOptions.__init__ = suggests_parameters(PointFormOptions.__init__)  # type: ignore[method-assign]


def insert_estimator_options(docstring: str) -> str:
    """Replace the line "[options of PointFormEstimator]" by the documentation of every option."""
    return insert_entries(docstring, _PLACEHOLDER, PointFormOptions.__doc__, "Parameters")


def check_projector(degree: int, dimension: int) -> None:
    """Raise an error if forms of a degree are zero on projectors of a dimension."""
    if degree > dimension:
        raise ValueError(
            f'degree={degree} with spectrum="projector": all forms of a degree above '
            f"d={dimension} are zero on projectors of that dimension"
        )

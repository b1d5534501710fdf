"""What the three point-form estimators share: options, geometry, comparison matrices, saving."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import FiniteFloat, NonNegativeInt, PositiveInt
from sklearn.utils.validation import check_is_fitted

from pointforms.clouds import cloud_list, features_of
from pointforms.estimators import saving
from pointforms.estimators.common_geometry import CommonGeometry, prepare_fields
from pointforms.estimators.covariates import (
    CovariateColumn,
    covariate_names,
    encode_covariates,
    learn_covariates,
)
from pointforms.estimators.network_estimator import NetworkEstimator
from pointforms.estimators.prediction import apply
from pointforms.estimators.saved_values import Attribute, Floats, Names
from pointforms.estimators.targets import Targets
from pointforms.estimators.trainer import Fit
from pointforms.exterior import check_degree
from pointforms.geometry.field import GramField, Measure
from pointforms.geometry.settings import (
    BandwidthPolicy,
    Center,
    Dimension,
    GramSettings,
    Search,
    Spectrum,
    documents_options,
)
from pointforms.nn.average import first_member
from pointforms.nn.network import PointFormNetwork
from pointforms.nn.point_forms import CoefficientKind
from pointforms.nn.readouts import ReadoutName
from pointforms.nn.stores import FieldStore
from pointforms.support.options import Bounds, Count, NotEmpty
from pointforms.support.suggestions import suggests_parameters

# The line of a docstring that stands for the entries of all options.
_PLACEHOLDER = "[options of PointFormEstimator]"

Degree = Annotated[int, Bounds(at_least=0)]

# Number of clouds on which the unit of the comparison matrices is measured.
_CALIBRATION_CLOUDS = 64


@documents_options
@dataclass(kw_only=True, eq=False, repr=False)
class PointFormEstimator(NetworkEstimator):
    """Base class of the point-form estimators.

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
    hidden : sequence of int, default (64, 64)
        Widths of the hidden layers of the network that returns the coefficients.
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
    weight_decay : float or "auto", default 0.001
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
        the number of parts, where it is the loss of several parts.
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

    # Attributes of a fitted estimator that are saved beside its network.
    _learned: ClassVar[dict[str, Attribute]] = {
        "n_features_in_": Attribute(PositiveInt),
        "feature_names_in_": Attribute(Names, length="features", optional=True),
        "neighbors_": Attribute(PositiveInt, optional=True),
        "dimension_": Attribute(PositiveInt),
        "center_": Attribute(Floats, length="features", optional=True),
        "unit_": Attribute(Floats, length="features", optional=True),
        "axes_": Attribute(list[list[FiniteFloat]], optional=True),
        "batch_centers_": Attribute(dict[Any, list[FiniteFloat]], optional=True),
        "covariates_": Attribute(list[CovariateColumn], optional=True),
        "best_epoch_": Attribute(NonNegativeInt),
        "history_": Attribute(list[dict[str, float]]),
    }

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = insert_estimator_options(cls.__doc__ or "")
        saving.register(cls)

    # --- geometry ---------------------------------------------------------------------------

    def prepare(self, clouds: Any) -> list[GramField]:
        """Compute the Gram fields of clouds with the options of this estimator.

        The fields can be passed to every method that takes clouds, so that many fits share them.
        Before `fit`, and unless `neighbors` and `dimension` are given, these clouds choose them
        together. Every fit then chooses anew on its own training clouds, and only the fields that
        differ are computed again. After `fit`, features with names are put in its order.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds. Gram fields are returned as they are, unless their neighbour count or
            dimension was chosen and another one is given or fitted.

        Returns
        -------
        list of GramField
            One per cloud.
        """
        clouds = self._checked(clouds)
        if self.scale is not None and self.units is None:
            return list(clouds)
        settings = GramSettings.among(self.get_params(deep=False))
        if settings.neighbors == "auto":
            settings = replace(settings, neighbors=getattr(self, "neighbors_", None) or "auto")
        if not isinstance(settings.dimension, int):
            chosen = getattr(self, "dimension_", None)
            settings = replace(settings, dimension=chosen or settings.dimension)
        if not isinstance(clouds[0], GramField):
            clouds = self._in_units(clouds)
        return prepare_fields(
            clouds,
            settings,
            units=self.units,
            n_jobs=self.n_jobs,
            progress=self.progress,
            cache=self.cache,
        )

    def make_store(
        self,
        prepared: Sequence[GramField],
        origin: torch.Tensor | None = None,
        centers: torch.Tensor | None = None,
        covariates: torch.Tensor | None = None,
    ) -> FieldStore:
        """Turn Gram fields into tensors, from which batches are gathered.

        Parameters
        ----------
        prepared : sequence of GramField
            One per cloud.
        origin : Tensor or None, shape (D,), default None
            What is subtracted from the points: the origin of a trained network, or by default one
            near the clouds. The units that `adapt` learned replace it.
        centers : Tensor or None, shape (N, D), default None
            The centres of the clouds' batches, for frame="batch".
        covariates : Tensor or None, shape (N, c), default None
            Covariates as numbers.
        """
        degrees = self.degrees() if self.coefficients == "dense" else ()
        return FieldStore(
            prepared,
            self.measure,
            degrees,
            getattr(torch, self.dtype),
            self.device,
            covariates=covariates,
            **self._store_options(origin, centers),
        )

    def make_stores(
        self, prepared: Sequence[GramField], trainings: Sequence[np.ndarray]
    ) -> list[FieldStore]:
        """Return a store for each set of training clouds, with units and geometry of that set."""
        if self._learns_units():
            return super().make_stores(prepared, trainings)  # type: ignore[return-value]
        settings = GramSettings.among(self.get_params(deep=False))
        estimator, common = copy(self), CommonGeometry(prepared, settings)
        stores: dict[tuple[int, int], FieldStore] = {}
        chosen = []
        for training in trainings:
            choice = common.choose(training.tolist())
            key = estimator.neighbors_, estimator.dimension_ = choice.neighbors, choice.dimension
            if key not in stores:
                stores[key] = self.make_store(estimator.prepare(prepared))
            chosen.append(stores[key])
        return chosen

    def adapt(self, clouds: Any) -> None:
        """Learn units, neighbour count and dimension from training clouds or their Gram fields."""
        clouds = self._checked(clouds)
        super().adapt(clouds)
        self._forget("neighbors_", "dimension_")
        if self.units is not None and not isinstance(clouds[0], GramField):
            clouds = self.units.scaled(self._in_units(clouds))
        settings = GramSettings.among(self.get_params(deep=False))
        choice = CommonGeometry(clouds, settings).choose()
        choice.warn_if_doubtful()
        self.neighbors_: int | None = choice.neighbors
        self.dimension_: int | None = choice.dimension

    def degrees(self) -> tuple[int, ...]:
        """Return the degrees of the forms, also where there is one."""
        degree: Any = self.degree
        return (int(degree),) if isinstance(degree, Integral) else tuple(degree)

    # --- training ---------------------------------------------------------------------------

    def check_options(self) -> None:
        """Raise an error if an option has a value that no fit can work with."""
        super().check_options()
        GramSettings.among(self.get_params(deep=False))
        degrees = self.degrees()
        if self.rank is not None and max(degrees) > self.rank:
            raise ValueError(
                f"degree={self.degree!r} with rank={self.rank}: all forms of a degree above the "
                "rank of the Gram field are zero"
            )
        if self.spectrum == "projector" and isinstance(self.dimension, int):
            _check_projector(max(degrees), self.dimension)

    def _checked(self, clouds: Any) -> list[Any]:
        """Return clouds with features in the order of `fit`; refuse degrees above their number."""
        ordered: list[Any] = self._by_name(cloud_list(clouds))
        features = features_of(ordered[0])
        if features is not None:  # before geometry, which takes longest
            check_degree(max(self.degrees()), min(features, self.components or features))
        return ordered

    def _make_store_with(
        self,
        prepared: Sequence[GramField],
        origin: torch.Tensor | None,
        covariates: Any,
        batch: np.ndarray | None,
        kept: np.ndarray,
        count: int,
    ) -> FieldStore:
        """Return a store of clouds with their batches and covariates."""
        if covariates is None and getattr(self, "covariates_", []) and hasattr(self, "model_"):
            names = [column["name"] for column in self.covariates_]
            raise ValueError(f"covariates is None: expected those of fit, {', '.join(names)}")
        values = None
        if covariates is not None:
            values = encode_covariates(covariates, self.covariates_, count)[kept]
            values = torch.from_numpy(values)
        return self.make_store(prepared, origin, self._centers(prepared, batch), values)

    def _fit(
        self,
        clouds: Any,
        targets: Targets,
        groups: Any,
        covariates: Any = None,
        batch: Any = None,
    ) -> None:
        self._forget("covariates_", "model_")
        if covariates is not None:
            self.covariates_ = learn_covariates(covariates, len(clouds))
        super()._fit(clouds, targets, groups, covariates, batch)

    def _new_model(self, outputs: int) -> torch.nn.Module:
        """Return the untrained network of one member."""
        return PointFormNetwork(
            self.components or self.n_features_in_,
            outputs,
            self.degrees(),
            self.forms,
            self.readout,
            self.coefficients,
            self.hidden,
            self.terms,
            self.head,
            frame=self.frame,
            covariates=len(covariate_names(getattr(self, "covariates_", []))),
        )

    def _standardize(self, model: Any, store: FieldStore, fit: Fit) -> None:
        rank, degree = store.factor.shape[-1], max(self.degrees())
        if self.spectrum == "projector":
            _check_projector(degree, rank)
        if degree > rank:
            raise ValueError(
                f"degree={self.degree!r}: the Gram fields of these clouds have rank {rank} at "
                "most, and all forms of a higher degree are zero on them"
            )
        unit = None if self.units is None else store.unit
        model.standardize(*store.moments(fit.train), store.origin, unit)
        some = torch.from_numpy(fit.train[:_CALIBRATION_CLOUDS]).to(store.sizes.device)
        model.calibrate(store.gather(some))

    # --- the fitted estimator ---------------------------------------------------------------

    def comparison_matrices(self, clouds: Any, batch: Any = None) -> np.ndarray:
        """Compute the comparison matrix of the learned forms on every cloud.

        Of several members, which have learned different forms, it is that of the first.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds, or their Gram fields.
        batch : array-like, shape (N,), or None, default None
            Batches, for frame="batch".

        Returns
        -------
        ndarray, shape (N, l, l)
            Symmetric and positive semidefinite; (N, degrees, l, l) if `degree` is a sequence.
        """
        check_is_fitted(self, "model_")
        network: Any = first_member(self.model_)
        fields = self.prepare_for_prediction(clouds)
        centers = self._centers(fields, self._checked_batch(batch, len(fields)))
        store = self.make_store(fields, network.origin, centers)
        stacked = apply(
            network, store, lambda batch: torch.stack(network.comparison_matrices(batch), 1)
        )
        matrices: np.ndarray = stacked.double().cpu().numpy()
        return matrices[:, 0] if isinstance(self.degree, Integral) else matrices

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a folder: safetensors and JSON, no pickle.

        :func:`pointforms.load` reads it. A model that is already there is replaced in one step;
        other files of the folder stay. The option `cache`, a folder of this machine, is not
        written, nor is a `random_state` that is no number.

        Parameters
        ----------
        folder : path-like
            A folder that is empty, holds a saved model, or does not exist.
        """
        check_is_fitted(self, "model_")
        saving.save(self, folder)


PointFormEstimator.__init__ = suggests_parameters(PointFormEstimator.__init__)  # type: ignore[method-assign]


def insert_estimator_options(docstring: str) -> str:
    """Replace the line "[options of PointFormEstimator]" by the documentation of every option."""
    _, _, options = (PointFormEstimator.__doc__ or "").partition("Parameters\n----------\n")
    return inspect.cleandoc(docstring).replace(_PLACEHOLDER, options.strip())


def _check_projector(degree: int, dimension: int) -> None:
    if degree > dimension:
        raise ValueError(
            f'degree={degree} with spectrum="projector": all forms of a degree above '
            f"d={dimension} are zero on projectors of that dimension"
        )

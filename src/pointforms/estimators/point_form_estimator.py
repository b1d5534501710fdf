"""What the three point-form estimators share: options, geometry, comparison matrices, saving."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from pointforms.estimators import saving
from pointforms.estimators.network_estimator import NetworkEstimator
from pointforms.estimators.prediction import apply
from pointforms.estimators.trainer import Fit
from pointforms.geometry.field import GramField, Measure
from pointforms.geometry.gram import gram_fields
from pointforms.geometry.settings import (
    BandwidthPolicy,
    Center,
    GramSettings,
    Search,
    Spectrum,
    documents_options,
)
from pointforms.nn.network import PointFormNetwork
from pointforms.nn.point_forms import CoefficientKind
from pointforms.nn.readouts import READOUTS, ReadoutName
from pointforms.nn.stores import FieldStore
from pointforms.support.checks import check_int
from pointforms.support.suggestions import suggests_parameters

# The line of a docstring that stands for the entries of all options.
_PLACEHOLDER = "[options of PointFormEstimator]"

# Number of clouds on which the unit of the comparison matrices is measured.
_CALIBRATION_CLOUDS = 64


@documents_options
@dataclass(kw_only=True, eq=False, repr=False)
class PointFormEstimator(NetworkEstimator):
    """Base class of the point-form estimators.

    Parameters
    ----------
    degree : int or sequence of int, default 1
        Degree k of the forms. With several degrees, such as (0, 1, 2), there are `forms` forms of
        each, and their readouts are concatenated.
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
    dimension : int or None, default None
        Intrinsic dimension d. None uses one d for all clouds: the median of the estimates for the
        training clouds, stored as `dimension_`.
    [options of GramSettings]
    epochs : int, default 60
        Largest number of passes over the training clouds. The learning rate falls to 0 along a
        cosine.
    batch_size : int, default 32
        Number of clouds per step.
    learning_rate : float, default 0.003
        Initial learning rate of AdamW.
    weight_decay : float, default 0.001
        Weight decay of AdamW.
    validation_fraction : float, default 0.15
        Share of the training clouds that is held back to choose the best epoch; 0 chooses it on
        the training clouds themselves.
    patience : int, default 20
        Stop after this many epochs without a better validation loss.
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
        Weights of the classes in the loss: None weighs all clouds equally, "balanced" all classes,
        and a dictionary maps labels to weights. Regression accepts only None.
    """

    degree: int | Sequence[int] = 1
    forms: int = 8
    readout: ReadoutName = "tri"
    coefficients: CoefficientKind = "dense"
    terms: int = 2
    hidden: Sequence[int] = (64, 64)
    head: int = 32
    measure: Measure = "uniform"
    neighbors: int | Literal["auto"] = 32
    dimension: int | None = None
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
    n_jobs: int | None = None

    # Attributes of a fitted estimator that are saved beside its network.
    _learned: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "dimension_",
        "best_epoch_",
        "history_",
    )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = insert_estimator_options(cls.__doc__ or "")
        saving.register(cls)

    # --- geometry ---------------------------------------------------------------------------

    def prepare(self, clouds: Any) -> list[GramField]:
        """Compute the Gram fields of clouds with the options of this estimator.

        The fields can be passed to every method that takes clouds, so that many fits share them.
        Before `fit`, and unless `dimension` is given, all clouds get the median of their estimated
        dimensions.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds. Gram fields are returned as they are.

        Returns
        -------
        list of GramField
            One per cloud.
        """
        settings = GramSettings.among(self.get_params(deep=False))
        if settings.dimension is None:
            settings = replace(settings, dimension=getattr(self, "dimension_", None))
        return gram_fields_of_one_dimension(
            clouds, settings, n_jobs=self.n_jobs, progress=self.progress, cache=self.cache
        )

    def make_store(
        self, prepared: Sequence[GramField], origin: torch.Tensor | None = None
    ) -> FieldStore:
        """Turn Gram fields into tensors, from which batches are gathered.

        Parameters
        ----------
        prepared : sequence of GramField
            One per cloud.
        origin : Tensor or None, shape (D,), default None
            What is subtracted from the points: the origin of a trained network, or by default one
            near the clouds.
        """
        degrees = self.degrees() if self.coefficients == "dense" else ()
        dtype = getattr(torch, self.dtype)
        return FieldStore(prepared, self.measure, degrees, dtype, self.device, origin)

    def degrees(self) -> tuple[int, ...]:
        """Return the degrees of the forms, also where there is one."""
        degree: Any = self.degree
        return (int(degree),) if isinstance(degree, Integral) else tuple(degree)

    # --- training ---------------------------------------------------------------------------

    def check_options(self) -> None:
        """Raise an error if an option has a value that no fit can work with."""
        GramSettings.among(self.get_params(deep=False))
        degrees = self.degrees()
        if not degrees or not all(isinstance(k, Integral) and int(k) >= 0 for k in degrees):
            raise ValueError(f"degree={self.degree!r}: expected whole numbers, at least 0")
        for name, choices in (
            ("readout", tuple(READOUTS)),
            ("coefficients", get_args(CoefficientKind)),
            ("measure", get_args(Measure)),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: expected one of {choices}")
        for name in ("forms", "terms"):
            check_int(name, getattr(self, name), at_least=1)
        super().check_options()

    def _prepare_for_fit(self, clouds: Any) -> list[GramField]:
        """Compute Gram fields and remember the dimension that they share."""
        self.dimension_: int | None = None
        fields = self.prepare(clouds)
        self.dimension_ = fields[0].dimension
        return fields

    def _new_model(self, outputs: int) -> PointFormNetwork:
        return PointFormNetwork(
            self.n_features_in_,
            outputs,
            self.degrees(),
            self.forms,
            self.readout,
            self.coefficients,
            self.hidden,
            self.terms,
            self.head,
        )

    def _standardize(self, model: Any, store: FieldStore, fit: Fit) -> None:
        model.standardize(*store.moments(fit.train), store.origin)
        model.calibrate(store.gather(torch.from_numpy(fit.train[:_CALIBRATION_CLOUDS])))

    # --- the fitted estimator ---------------------------------------------------------------

    def comparison_matrices(self, clouds: Any) -> np.ndarray:
        """Compute the comparison matrix of the learned forms on every cloud.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds, or their Gram fields.

        Returns
        -------
        ndarray, shape (N, l, l)
            Symmetric and positive semidefinite; (N, degrees, l, l) if `degree` is a sequence.
        """
        store = self._prediction_store(clouds)
        stacked = apply(
            self.model_, store, lambda batch: torch.stack(self.model_.comparison_matrices(batch), 1)
        )
        matrices: np.ndarray = stacked.double().cpu().numpy()
        return matrices[:, 0] if isinstance(self.degree, Integral) else matrices

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a folder: JSON and safetensors, no pickle.

        :func:`pointforms.load` reads it. A model that is already there is replaced.

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


def gram_fields_of_one_dimension(
    clouds: Any,
    settings: GramSettings,
    n_jobs: int | None = None,
    progress: bool = False,
    cache: str | os.PathLike[str] | None = None,
) -> list[GramField]:
    """Compute Gram fields that share one dimension d; Gram fields are returned as they are.

    Parameters
    ----------
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds, or their Gram fields.
    settings : GramSettings
        Options of the fields. If they have no dimension, d is the median over the clouds.
    n_jobs : int or None, default None
        Number of threads; -1 uses one per core, None the calling thread.
    progress : bool, default False
        Show a progress bar.
    cache : path-like or None, default None
        A folder that keeps the fields.
    """
    if isinstance(clouds, Sequence) and clouds and isinstance(clouds[0], GramField):
        for i, field in enumerate(clouds):
            if not isinstance(field, GramField):
                raise TypeError(f"item {i} is a {type(field).__name__}: expected a GramField")
        return list(clouds)
    options: dict[str, Any] = asdict(settings)
    options |= {"n_jobs": n_jobs, "progress": progress, "cache": cache}
    clouds = clouds if isinstance(clouds, Sequence) else list(clouds)
    fields = gram_fields(clouds, **options)
    if settings.dimension is None:
        options["dimension"] = int(np.median([field.dimension for field in fields]))
        others = [i for i, field in enumerate(fields) if field.dimension != options["dimension"]]
        if others:
            again = gram_fields([clouds[i] for i in others], **options)
            for i, field in zip(others, again, strict=True):
                fields[i] = field
    return fields

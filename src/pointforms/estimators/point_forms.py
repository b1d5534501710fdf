"""What the estimators share: options, geometry, training and storage."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from pointforms.estimators import saving
from pointforms.estimators.network import CloudLearner
from pointforms.estimators.trainer import Fit, apply
from pointforms.geometry.field import GramField, Measure
from pointforms.geometry.gram import gram_fields
from pointforms.geometry.settings import (
    BandwidthPolicy,
    Center,
    GramSettings,
    Search,
    Spectrum,
)
from pointforms.nn.batch import FieldStore
from pointforms.nn.network import PointFormNetwork
from pointforms.nn.point_forms import CoefficientKind
from pointforms.nn.readouts import READOUTS, ReadoutName
from pointforms.support.checks import check_int

# Clouds on which the unit of the comparison matrices is measured.
_CALIBRATION_CLOUDS = 64


class PointFormEstimator(CloudLearner):
    """What the three estimators share: options, geometry, training, storage."""

    def __init__(
        self,
        degree: int | Sequence[int] = 1,
        forms: int = 8,
        readout: ReadoutName = "tri",
        coefficients: CoefficientKind = "dense",
        terms: int = 2,
        hidden: Sequence[int] = (64, 64),
        head: int = 32,
        measure: Measure = "uniform",
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
        epochs: int = 60,
        batch_size: int = 32,
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-3,
        validation_fraction: float = 0.15,
        patience: int = 20,
        points_per_epoch: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "cpu",
        dtype: Literal["float32", "float64"] = "float32",
        cache: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
        class_weight: Literal["balanced"] | dict[Any, float] | None = None,
    ) -> None:
        self.degree = degree
        self.forms = forms
        self.readout = readout
        self.coefficients = coefficients
        self.terms = terms
        self.hidden = hidden
        self.head = head
        self.measure = measure
        self.neighbors = neighbors
        self.dimension = dimension
        self.bandwidth = bandwidth
        self.bandwidth_policy = bandwidth_policy
        self.bandwidth_units = bandwidth_units
        self.alpha = alpha
        self.beta = beta
        self.density_neighbors = density_neighbors
        self.center = center
        self.calibrate = calibrate
        self.truncation = truncation
        self.spectrum = spectrum
        self.rank = rank
        self.search = search
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.points_per_epoch = points_per_epoch
        self.random_state = random_state
        self.device = device
        self.dtype = dtype
        self.cache = cache
        self.n_jobs = n_jobs
        self.progress = progress
        self.class_weight = class_weight

    # --- geometry ---------------------------------------------------------------------------

    def gram_fields(self, clouds: Any) -> list[GramField]:
        """Gram fields of the clouds with this estimator's options; fields pass as they are.

        Before `fit`, and without a given `dimension`, all clouds get the median of theirs.
        """
        settings = GramSettings.among(self.get_params(deep=False))
        if isinstance(clouds, Sequence) and clouds and isinstance(clouds[0], GramField):
            for i, field in enumerate(clouds):
                if not isinstance(field, GramField):
                    raise TypeError(f"item {i} is a {type(field).__name__}, item 0 a GramField")
            return list(clouds)
        options = {name: getattr(self, name) for name in settings.__dataclass_fields__}
        options |= {"n_jobs": self.n_jobs, "progress": self.progress, "cache": self.cache}
        clouds = list(clouds) if not isinstance(clouds, Sequence) else clouds
        known = self.dimension if self.dimension is not None else getattr(self, "dimension_", None)
        fields = gram_fields(clouds, **(options | {"dimension": known}))
        if known is None:
            d = int(np.median([field.dimension for field in fields]))
            other = [i for i, field in enumerate(fields) if field.dimension != d]
            if other:
                again = gram_fields([clouds[i] for i in other], **(options | {"dimension": d}))
                for i, field in zip(other, again, strict=True):
                    fields[i] = field
        return fields

    def prepare(self, clouds: Any) -> list[GramField]:
        """Gram fields: see :meth:`gram_fields`."""
        return self.gram_fields(clouds)

    def _width(self, prepared: Sequence[GramField]) -> int:
        return prepared[0].points.shape[1]

    def _fitting(self, clouds: Any) -> Sequence[GramField]:
        self.dimension_: int | None = None
        fields = super()._fitting(clouds)
        self.dimension_ = fields[0].dimension
        return fields

    def make_store(self, prepared: Sequence[GramField]) -> FieldStore:
        """The fields as tensors, in this estimator's measure and precision."""
        degrees = self._degrees() if self.coefficients == "dense" else ()
        return FieldStore(prepared, self.measure, degrees, getattr(torch, self.dtype), self.device)

    def _degrees(self) -> tuple[int, ...]:
        degrees: Any = self.degree
        return (int(degrees),) if isinstance(degrees, Integral) else tuple(degrees)

    # --- training ---------------------------------------------------------------------------

    def check_options(self) -> None:
        """Refuse what no fit can work with."""
        degree: Any = self.degree
        given: Any = (degree,) if isinstance(degree, Integral) else tuple(degree)
        if not given or not all(isinstance(k, Integral) and int(k) >= 0 for k in given):
            raise ValueError(f"degree={self.degree!r}: expected whole numbers, at least 0")
        for name, choices in (
            ("readout", tuple(READOUTS)),
            ("coefficients", ("dense", "wedge")),
            ("measure", ("uniform", "volume", "volume-normalized")),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: expected one of {choices}")
        for name in ("forms", "terms"):
            check_int(name, getattr(self, name), at_least=1)
        super().check_options()

    def _new_model(self, outputs: int) -> PointFormNetwork:
        return PointFormNetwork(
            self.n_features_in_,
            outputs,
            self._degrees(),
            self.forms,
            self.readout,
            self.coefficients,
            self.hidden,
            self.terms,
            self.head,
        )

    def _standardize(self, model: Any, store: FieldStore, fit: Fit) -> None:
        model.standardize(*store.moments(fit.train))
        model.calibrate(store.gather(torch.from_numpy(fit.train[:_CALIBRATION_CLOUDS])))

    # --- what was learned -------------------------------------------------------------------

    def comparison_matrices(self, clouds: Any) -> np.ndarray:
        """C of every cloud: (N, l, l), or (N, degrees, l, l) for several degrees."""
        store = self.make_store(self._checked(clouds))
        found = apply(
            lambda batch: torch.stack(self.model_.comparison_matrices(batch), 1), self.model_, store
        )
        matrices: np.ndarray = found.double().cpu().numpy()
        return matrices[:, 0] if isinstance(self.degree, Integral) else matrices

    # --- storage ----------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a folder: JSON and safetensors, no pickle."""
        check_is_fitted(self, "model_")
        saving.save(self, folder)

    def _learned(self) -> dict[str, Any]:
        """Fitted attributes beside the model, as JSON."""
        return {
            "n_features_in_": self.n_features_in_,
            "dimension_": self.dimension_,
            "best_epoch_": self.best_epoch_,
            "history_": self.history_,
        }

    def _restore(self, learned: dict[str, Any]) -> int:
        """Set fitted attributes; returns the model's outputs."""
        for name, value in learned.items():
            setattr(self, name, value)
        return 1

"""What the three point-form estimators share: geometry, comparison matrices, saving."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import torch
from pydantic import FiniteFloat, NonNegativeInt, PositiveInt
from sklearn.utils.validation import check_is_fitted

from pointforms.cloud import features_of
from pointforms.clouds import cloud_list, plain_clouds
from pointforms.estimators.common_geometry import CommonGeometry, stream_fields
from pointforms.estimators.covariates import (
    CovariateColumn,
    covariate_names,
    encode_covariates,
    learn_covariates,
)
from pointforms.estimators.fits import Fit
from pointforms.estimators.point_form_options import PointFormOptions, check_projector
from pointforms.estimators.prediction import apply
from pointforms.estimators.saved_networks import restore_network
from pointforms.estimators.saved_state import SavedState
from pointforms.estimators.saved_values import Attribute, Floats, Names
from pointforms.estimators.seen_features import seen_places
from pointforms.estimators.targets import Targets
from pointforms.estimators.training_clouds import HELD_OUT, TRAINING_CLOUDS, TRAINING_GROUPS
from pointforms.exterior import check_degree
from pointforms.geometry.field import GramField
from pointforms.geometry.settings import GramSettings
from pointforms.geometry.stream import FieldStream
from pointforms.nn.average import first_member
from pointforms.nn.field_store import FieldStore
from pointforms.nn.network import PointFormNetwork
from pointforms.nn.point_forms import Sees
from pointforms.support.docstring_entries import insert_entries
from pointforms.support.saved_classes import register_class
from pointforms.support.threads import one_thread

# Number of clouds on which the unit of the comparison matrices is measured.
_CALIBRATION_CLOUDS = 64


class PointFormEstimator(PointFormOptions):
    """Base class of the point-form estimators: their geometry, and their comparison matrices.

    Parameters
    ----------
    [options of PointFormEstimator]

    Attributes
    ----------
    n_features_in_ : int
        Number of features of the clouds, D.
    feature_names_in_ : ndarray of str, shape (D,)
        Their names, if the clouds of `fit` were data frames, or :class:`pointforms.Clouds` with
        names other than x0, x1, … Later clouds with the same names in another order are put in this
        order.
    center_ : ndarray, shape (D,)
        The centre of each feature over the training points, where clouds are scaled or framed.
    unit_ : ndarray, shape (D,)
        What each feature is divided by, where clouds are scaled or framed.
    axes_ : list of list of float, shape (components, D)
        The principal axes, where there are `components`.
    training_clouds_ : list of str
        Fingerprints of the clouds of `fit`, by which `training_positions` finds them again.
    training_groups_ : list of int
        Groups of the clouds of `fit`, by number, if it was given any.
    held_out_ : list of list of int
        Where several members hold out parts of the training clouds: the positions of the clouds
        that each of them was not trained on.
    neighbors_ : int
        The number of points in a neighbourhood that all Gram fields share.
    dimension_ : int
        The intrinsic dimension that all Gram fields share.
    history_ : list of dict
        Losses of each epoch: "train", the weighted loss that its steps minimised, and
        "validation", the mean loss of the validation clouds after it, without weights.
    best_epoch_ : int
        The epoch whose parameters were kept.
    """

    # Attributes of a fitted estimator that are saved beside its network.
    _learned: ClassVar[dict[str, Attribute]] = {
        "n_features_in_": Attribute(PositiveInt),
        "feature_names_in_": Attribute(Names, length="features", optional=True),
        "neighbors_": Attribute(PositiveInt, optional=True),
        "dimension_": Attribute(PositiveInt),
        "given_geometry_": Attribute(bool, optional=True),
        "center_": Attribute(Floats, length="features", optional=True),
        "unit_": Attribute(Floats, length="features", optional=True),
        "axes_": Attribute(list[list[FiniteFloat]], optional=True),
        "batch_centers_": Attribute(dict[Any, list[FiniteFloat]], optional=True),
        "covariates_": Attribute(list[CovariateColumn], optional=True),
        "training_clouds_": TRAINING_CLOUDS,
        "training_groups_": TRAINING_GROUPS,
        "held_out_": HELD_OUT,
        "best_epoch_": Attribute(NonNegativeInt),
        "history_": Attribute(list[dict[str, float]]),
    }

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = insert_estimator_attributes(cls.__doc__ or "")
        register_class(cls.__name__, cls)

    # --- geometry ---------------------------------------------------------------------------

    def prepare(self, clouds: Any) -> list[GramField]:
        """Compute the Gram fields of clouds with the options of this estimator.

        The fields can be passed to every method that takes clouds, so that many fits share them.
        Before `fit`, clouds are returned as they are if `scale` or `components` has to be learned
        from training clouds first. With scale=None, and unless `neighbors` and `dimension` are
        given, these clouds choose them together. Every fit then chooses anew on its own training
        clouds, and only the fields that differ are computed again. After `fit`, features with names
        are put in its order.

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
        with one_thread():
            stream = self._stream(clouds)
            # clouds that await their units keep their names, if they have any
            return stream.fields() if isinstance(stream, FieldStream) else stream

    def _stream(self, clouds: Any) -> Any:
        """Return the fields of :meth:`prepare`, which are computed while a store is made of them.

        Clouds that await their units are returned as they are.
        """
        clouds = self._checked(clouds)
        if self._awaits_units():
            return clouds
        settings = GramSettings.among(self.get_params(deep=False))
        if settings.neighbors == "auto":
            settings = replace(settings, neighbors=getattr(self, "neighbors_", None) or "auto")
        if not isinstance(settings.dimension, int):
            chosen = getattr(self, "dimension_", None)
            settings = replace(settings, dimension=chosen or settings.dimension)
        if not isinstance(clouds[0], GramField):
            clouds = self._in_units(clouds)
        else:
            self._check_units_of(clouds)
        return stream_fields(
            clouds,
            settings,
            units=self.units,
            n_jobs=self.n_jobs,
            progress=self.progress,
            cache=self.cache,
            copy=False,  # of the clouds, there is one already
        )

    def make_store(
        self,
        prepared: Sequence[GramField] | FieldStream,
        origin: torch.Tensor | None = None,
        centers: torch.Tensor | None = None,
        covariates: torch.Tensor | None = None,
    ) -> FieldStore:
        """Turn Gram fields into tensors, from which batches are gathered.

        Parameters
        ----------
        prepared : sequence of GramField, or FieldStream
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
                stores[key] = self.make_store(estimator._stream(prepared))
            chosen.append(stores[key])
        return chosen

    def adapt(self, clouds: Any, batch: np.ndarray | None = None) -> None:
        """Learn units, neighbour count and dimension from training clouds or their Gram fields."""
        clouds = self._checked(clouds)
        super().adapt(clouds, batch)
        self._seen(plain_clouds(clouds[:1])[0].shape[1])  # before geometry, which takes longest
        self._forget("neighbors_", "dimension_", "given_geometry_")
        if isinstance(clouds[0], GramField):
            unit = _common_unit(clouds)
            if unit is None or self.scale is None:
                self.given_geometry_ = True
            else:  # later clouds are scaled as these were
                self.unit_ = unit.numpy()
        if self.units is not None and not isinstance(clouds[0], GramField):
            clouds = self.units.scaled(self._in_units(clouds))
        settings = GramSettings.among(self.get_params(deep=False))
        choice = CommonGeometry(clouds, settings).choose()
        choice.warn_if_doubtful()
        self.neighbors_: int | None = choice.neighbors
        self.dimension_: int | None = choice.dimension

    def _check_units_of(self, fields: Sequence[GramField]) -> None:
        """Raise an error if Gram fields were not estimated in the units of the training clouds."""
        units = self.units
        if units is None or not units.in_geometry or units.axes is not None:
            return
        for i, field in enumerate(fields):
            if not isinstance(field, GramField):
                continue  # an error that says more follows
            if field.unit is None or not torch.equal(field.unit, units.unit):
                raise ValueError(
                    f"Gram field {i} was estimated in other units than those of fit, which scaled "
                    "the features: pass clouds, or what prepare returns for them"
                )

    # --- training ---------------------------------------------------------------------------

    def _checked(self, clouds: Any) -> list[Any]:
        """Return clouds with features in the order of `fit`; refuse degrees above their number."""
        ordered: list[Any] = self._by_name(cloud_list(clouds))
        features = features_of(ordered[0])
        if features is not None:  # before geometry, which takes longest
            check_degree(max(self.degrees()), min(features, self.components or features))
        return ordered

    def _make_store_with(
        self,
        prepared: Any,
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
        if covariates is not None and not hasattr(self, "covariates_"):
            raise ValueError("covariates: expected None, since fit had none")
        values = None
        if covariates is not None:
            numbers = encode_covariates(covariates, self.covariates_, count, kept)
            values = torch.from_numpy(numbers)
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
            self.covariates_ = learn_covariates(covariates, len(clouds), targets.counted())
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
            sees=self._seen(self.components or self.n_features_in_),
        )

    def _seen(self, features: int) -> Sees:
        """Return which features coefficients read, by their places."""
        names = getattr(self, "feature_names_in_", None)
        known = None if names is None else list(names)
        width = self.components or features
        return seen_places(self.sees, known, width, components=self.components is not None)

    def _standardize(self, model: Any, store: FieldStore, fit: Fit) -> None:
        rank, degree = store.rank, max(self.degrees())
        if self.spectrum == "projector":
            check_projector(degree, rank)
        if degree > rank:
            raise ValueError(
                f"degree={self.degree!r}: the Gram fields of these clouds have rank {rank} at "
                "most, and all forms of a higher degree are zero on them"
            )
        unit = store.unit if store.in_units else None
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
        with one_thread():
            prepared = self._stream(clouds)
            self._check_prepared(prepared)
            centers = self._centers(prepared, self._checked_batch(batch, len(prepared)))
            store = self.make_store(prepared, network.origin, centers)
            stacked = apply(
                network, store, lambda batch: torch.stack(network.comparison_matrices(batch), 1)
            )
        matrices: np.ndarray = stacked.double().cpu().numpy()
        return matrices[:, 0] if isinstance(self.degree, Integral) else matrices

    @classmethod
    def _from_saved(cls, state: SavedState) -> Self:
        restored: Self = restore_network(cls, state)
        return restored


def insert_estimator_attributes(docstring: str) -> str:
    """Replace the line "[attributes of PointFormEstimator]" by the entries of these attributes."""
    line, source = "[attributes of PointFormEstimator]", PointFormEstimator.__doc__
    return insert_entries(docstring, line, source, "Attributes")


def _common_unit(fields: Sequence[Any]) -> torch.Tensor | None:
    """Return the units in which all Gram fields were estimated; None for those of the features."""
    units = [field.unit for field in fields if isinstance(field, GramField)]
    for i, unit in enumerate(units):
        same = unit is units[0] if unit is None or units[0] is None else unit.equal(units[0])
        if not same:
            raise ValueError(
                f"Gram field {i} was estimated in other units than Gram field 0: expected those of "
                "one fit, or of none"
            )
    return None if units[0] is None else units[0].double().cpu()

"""Estimators with scikit-learn's conventions on lists of clouds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from sklearn.base import RegressorMixin, TransformerMixin
from sklearn.utils.multiclass import type_of_target

from pointforms.estimators.network import CloudClassifier, check_groups
from pointforms.estimators.point_forms import PointFormEstimator
from pointforms.estimators.trainer import Fit, apply

if TYPE_CHECKING:
    from pointforms.explain.salience import Salience


class PointFormClassifier(CloudClassifier, PointFormEstimator):  # type: ignore[misc]
    """Classify clouds by the comparison matrices of learned forms.

    Parameters
    ----------
    degree : int or several
        Degrees of the forms.
    forms : int
        Forms of each degree, l.
    readout : "tri", "flat", "diag", "pool" or "gram"
        How the l × l comparison matrix becomes a vector.
    coefficients : "dense" or "wedge"
        One coefficient for each basis form, or sums of `terms` decomposable forms.
    hidden, head : widths of the coefficient network, and of the head's hidden layer
    measure : "uniform", "volume" or "volume-normalized"
        Weights of the points; the latter two correct for the sampling density.
    neighbors, ..., search
        As in :func:`pointforms.gram_field`. Without `dimension`, one d is fixed for all clouds,
        the median over the training clouds.
    epochs, batch_size, learning_rate, weight_decay
        Of AdamW, with a cosine schedule.
    validation_fraction, patience
        The part that is held back to choose the epoch, and how long to wait for a better one.
        0 chooses on the training clouds.
    points_per_epoch : int or None
        Train each epoch on so many random points of larger clouds; geometry and prediction see
        them all.
    random_state, device, dtype, cache, n_jobs, progress
        Seed of everything random; where and in what precision to train; options of
        :func:`pointforms.gram_fields`; a progress bar.
    class_weight : None, "balanced" or dict

    Attributes
    ----------
    classes_ : (C,)
    model_ : PointFormNetwork
    dimension_, n_features_in_, history_, best_epoch_
    """

    def explain(
        self,
        clouds: Any,
        y: Any,
        groups: Any = None,
        feature_names: Sequence[str] | None = None,
        refits: int = 4,
        permutations: int = 500,
        random_state: int | None = 0,
    ) -> Salience:
        """Which features, or pairs of features, the classes differ by: a table.

        See :func:`pointforms.explain.salience`.
        """
        from pointforms.explain.salience import salience

        return salience(self, clouds, y, groups, feature_names, refits, permutations, random_state)

    def _learned(self) -> dict[str, Any]:
        classes = {"values": self.classes_.tolist(), "dtype": self.classes_.dtype.str}
        return super()._learned() | {"classes_": classes}

    def _restore(self, learned: dict[str, Any]) -> int:
        classes = learned.pop("classes_")
        super()._restore(learned)
        self.classes_ = np.array(classes["values"], dtype=classes["dtype"])
        return len(self.classes_)


class PointFormRegressor(RegressorMixin, PointFormEstimator):  # type: ignore[misc]
    """Predict a number, or several, for each cloud. Parameters as in PointFormClassifier."""

    def fit(self, clouds: Any, y: Any, groups: Any = None) -> Self:
        """Learn forms whose comparisons predict y (N,) or (N, targets)."""
        self.check_options()
        if self.class_weight is not None:
            raise ValueError(f"class_weight={self.class_weight!r}: a regressor has no classes")
        clouds = list(clouds)
        values = np.asarray(y, dtype=np.float64)
        if values.ndim not in (1, 2) or len(values) != len(clouds):
            raise ValueError(f"y has shape {values.shape} for {len(clouds)} clouds")
        if not np.isfinite(values).all():
            raise ValueError("y has non-finite values")
        check_groups(groups, len(clouds))
        columns = values.reshape(len(values), -1)
        self.target_mean_ = columns.mean(0).tolist()
        self.target_scale_ = np.where(columns.std(0) > 0, columns.std(0), 1.0).tolist()
        self.single_target_ = values.ndim == 1
        scaled = torch.from_numpy((columns - self.target_mean_) / self.target_scale_)
        fields = self._fitting(clouds)
        loss = lambda out, t: (out - t).square().mean(-1)  # noqa: E731
        return self._fit_network(
            fields, values, scaled.to(getattr(torch, self.dtype)), columns.shape[1], loss, groups
        )

    def predict(self, clouds: Any) -> np.ndarray:
        """(N,) or (N, targets)."""
        out = self._outputs(clouds).double().cpu().numpy()
        values: np.ndarray = out * self.target_scale_ + self.target_mean_
        return values[:, 0] if self.single_target_ else values

    def _learned(self) -> dict[str, Any]:
        names = ("target_mean_", "target_scale_", "single_target_")
        return super()._learned() | {name: getattr(self, name) for name in names}

    def _restore(self, learned: dict[str, Any]) -> int:
        super()._restore(learned)
        return len(self.target_mean_)


class PointFormTransformer(TransformerMixin, PointFormEstimator):  # type: ignore[misc]
    """Comparison features of clouds, for any estimator behind it in a pipeline.

    With `y` in `fit` the forms are those of a classifier or regressor of y; without it, or with
    epochs=0, they are random, untrained ones. Parameters as in PointFormClassifier.
    """

    _fewest_epochs = 0

    def fit(self, clouds: Any, y: Any = None, groups: Any = None) -> Self:
        """Learn, or draw, the forms."""
        self.check_options()
        clouds = list(clouds)
        if y is not None and self.epochs > 0:
            continuous = type_of_target(y).startswith("continuous")
            kind = PointFormRegressor if continuous else PointFormClassifier
            source = kind(**self.get_params(deep=False)).fit(clouds, y, groups)
            for name in ("model_", "history_", "best_epoch_", "dimension_", "n_features_in_"):
                setattr(self, name, getattr(source, name))
            self.outputs_ = source.outputs_
            return self
        store = self.make_store(self._fitting(clouds))
        fit = Fit(np.arange(len(clouds)), np.arange(0), self.seed())
        self.model_ = self.make_model(store, 1, fit)
        self.model_.eval()
        self.history_, self.best_epoch_, self.outputs_ = [], 0, 1
        return self

    def transform(self, clouds: Any) -> np.ndarray:
        """Readouts of the comparison matrices: (N, features)."""
        store = self.make_store(self._checked(clouds))
        features: np.ndarray = (
            apply(self.model_.features, self.model_, store).double().cpu().numpy()
        )
        return features

    def _learned(self) -> dict[str, Any]:
        return super()._learned() | {"outputs_": self.outputs_}

    def _restore(self, learned: dict[str, Any]) -> int:
        super()._restore(learned)
        return int(self.outputs_)

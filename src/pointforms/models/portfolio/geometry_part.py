"""Point-form networks as a part of a portfolio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pointforms.estimators import PointFormClassifier, PointFormRegressor
from pointforms.estimators.ensemble import Ensemble
from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.estimators.targets import ClassTargets, Targets
from pointforms.geometry.field import GramField
from pointforms.nn.frames import Frame


@dataclass(frozen=True)
class GeometryOptions:
    """Options of the point-forms of a part, which differ from those of the other parts.

    Attributes
    ----------
    frame : {"absolute", "cloud", "shape", "both"}
        What the coefficients of the forms depend on.
    degree : sequence of int
        Degrees of the forms.
    weight_decay : float, default 1.0
        Weight decay.
    """

    frame: Frame
    degree: Sequence[int]
    weight_decay: float = 1.0


class SharedGeometry:
    """Units and Gram fields of the training clouds, which all point-forms of a portfolio share.

    Parameters
    ----------
    points : sequence of Tensor, each of shape (n_i, D)
        The training clouds.
    targets : Targets
        What to predict.
    options : dict
        Options that all point-forms have in common.
    """

    def __init__(self, points: Sequence[Any], targets: Targets, options: dict[str, Any]) -> None:
        kind = PointFormClassifier if isinstance(targets, ClassTargets) else PointFormRegressor
        self._kind, self._options = kind, options
        self._adapted: PointFormEstimator = kind(**options)
        self._adapted.check_options()
        self._adapted.adapt(points)
        self.fields: list[GramField] = self._adapted.prepare(points)

    def estimator(self, own: GeometryOptions) -> PointFormEstimator:
        """Return an estimator with options of its own that has this geometry."""
        estimator: PointFormEstimator = self._kind(
            **self._options,
            frame=own.frame,
            degree=tuple(own.degree),
            weight_decay=own.weight_decay,
        )
        for name in ("n_features_in_", "center_", "unit_", "neighbors_", "dimension_"):
            if hasattr(self._adapted, name):
                setattr(estimator, name, getattr(self._adapted, name))
        return estimator


def fit_point_forms(
    geometry: SharedGeometry,
    own: GeometryOptions,
    targets: Targets,
    folds: np.ndarray,
    seed: int,
    deadline: float | None = None,
    progress: bool = False,
) -> tuple[PointFormEstimator, np.ndarray]:
    """Fit one member per fold, and return the estimator and its out-of-fold predictions.

    Predictions are probabilities (N, C), or standardised numbers (N, targets).
    """
    estimator = geometry.estimator(own)
    store = estimator.make_store(geometry.fields)
    part = (np.arange(len(folds)), seed)
    [fitted] = estimator.train_networks(
        store, targets, [part], folds=folds, deadline=deadline, progress=progress
    )
    assert isinstance(fitted, Ensemble)
    assert fitted.out_of_fold is not None
    estimator.keep(fitted)
    if isinstance(targets, ClassTargets):
        estimator.classes_ = targets.classes  # type: ignore[attr-defined]
    else:
        estimator.target_mean_ = [0.0] * targets.outputs  # type: ignore[attr-defined]
        estimator.target_scale_ = [1.0] * targets.outputs  # type: ignore[attr-defined]
        estimator.single_target_ = False  # type: ignore[attr-defined]
    return estimator, fitted.out_of_fold

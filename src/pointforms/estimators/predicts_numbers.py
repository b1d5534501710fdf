"""What all regressors of clouds have in common: `predict` and `score`."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import FiniteFloat
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from pointforms.estimators.learns_targets import LearnsTargets
from pointforms.estimators.per_cloud import check_order
from pointforms.estimators.saved_values import Attribute
from pointforms.estimators.targets import NumberTargets
from pointforms.support.threads import one_thread

# Attributes of a fitted regressor that are saved.
TARGET_UNITS = {
    "target_mean_": Attribute(list[FiniteFloat], "outputs"),
    "target_scale_": Attribute(list[FiniteFloat], "outputs"),
    "single_target_": Attribute(bool),
}


class PredictsNumbers(LearnsTargets, RegressorMixin):  # type: ignore[misc]
    """A mixin that turns what predicts standardised numbers into a regressor.

    It goes with a class that has `check_options`, `_fit` and `_predict`.
    """

    _targets_type = NumberTargets

    def _keep_targets(self, targets: NumberTargets) -> None:
        self.target_mean_, self.target_scale_ = targets.mean, targets.scale
        self.single_target_ = targets.single

    def predict(self, clouds: Any, covariates: Any = None, batch: Any = None) -> np.ndarray:
        """Predict the numbers of clouds.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds, or what `prepare` returned for them.
        covariates : data frame, mapping or array-like, or None, default None
            The columns that were given to `fit`.
        batch : array-like, shape (N,), or None, default None
            The batch of each cloud, if `fit` was given batches. One that `fit` has not seen is
            centred by its own clouds.

        Returns
        -------
        ndarray, shape (N,) or (N, targets)
            As y was in `fit`.
        """
        check_order(clouds, covariates=covariates, batch=batch)
        with one_thread():
            predicted = self._predict(clouds, covariates, batch)
        return self._in_target_units(predicted)

    def score(
        self,
        clouds: Any,
        y: Any,
        sample_weight: Any = None,
        covariates: Any = None,
        batch: Any = None,
    ) -> float:
        """Return R² of the predicted numbers, the mean over targets.

        Takes what :meth:`predict` takes, with the numbers `y` and weights of the clouds.
        """
        check_order(clouds, y=y, sample_weight=sample_weight)
        predicted = self.predict(clouds, covariates, batch)
        return float(r2_score(y, predicted, sample_weight=sample_weight))

    def _in_target_units(self, predicted: np.ndarray) -> np.ndarray:
        numbers: np.ndarray = predicted * self.target_scale_ + self.target_mean_
        return numbers[:, 0] if self.single_target_ else numbers

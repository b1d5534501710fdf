"""PointFormRegressor: predict numbers from the comparison matrices of learned forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from pointforms.estimators.member_outputs import mean_by_row, outputs_out_of_fold
from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.estimators.prediction import apply
from pointforms.estimators.predicts_numbers import TARGET_UNITS, PredictsNumbers


class PointFormRegressor(PredictsNumbers, PointFormEstimator):  # type: ignore[misc]
    """Predict one or more numbers per cloud from the comparison matrices of learned forms.

    Parameters
    ----------
    [options of PointFormEstimator]

    Attributes
    ----------
    target_mean_ : list of float
        Mean of each target over the training clouds.
    target_scale_ : list of float
        Standard deviation of each target over the training clouds.
    single_target_ : bool
        Whether y had one number per cloud, rather than a row.
    model_ : PointFormNetwork or AverageNetwork
        The trained network, or the average of several, whose outputs are standardised targets.
    oof_predictions_ : ndarray, shape (N,) or (N, targets)
        Where several networks hold out parts of the training clouds: the prediction for each cloud
        by those that used it neither for training nor for choosing their epoch; NaN for a cloud of
        weight 0. It is not saved.
    [attributes of PointFormEstimator]

    Examples
    --------
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=40, points=32)
    >>> size = [abs(cloud).max() for cloud in task.clouds]
    >>> reg = pf.PointFormRegressor(forms=4, hidden=(16,), epochs=5, random_state=0)
    >>> reg.fit(task.clouds, size).predict(task.clouds).shape
    (40,)
    """

    _learned = PointFormEstimator._learned | TARGET_UNITS

    def _predict(self, clouds: Any, covariates: Any, batch: Any) -> np.ndarray:
        """Return standardised numbers: (N, targets)."""
        store = self._prediction_store(clouds, covariates, batch)
        outputs: np.ndarray = apply(self.model_, store).double().cpu().numpy()
        return outputs

    def _predict_out_of_fold(self, clouds: Any, of: Any, covariates: Any, batch: Any) -> np.ndarray:
        """Return numbers by members that held out the training clouds `of`: (N, targets)."""
        found = outputs_out_of_fold(self, clouds, of, covariates, batch)
        return mean_by_row(found, len(clouds))

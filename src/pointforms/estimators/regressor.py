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
    oof_predictions_ : ndarray, shape (N,) or (N, targets)
        Where several networks hold out parts of the training clouds: the prediction for each cloud
        by those that used it neither for training nor for choosing their epoch; NaN for a cloud of
        weight 0. It is not saved.
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

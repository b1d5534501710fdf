"""PointFormRegressor: predict numbers from the comparison matrices of learned forms."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from pydantic import FiniteFloat
from sklearn.base import RegressorMixin

from pointforms.clouds import cloud_list
from pointforms.estimators.explaining import ExplainsItself
from pointforms.estimators.network_estimator import mean_by_row
from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.estimators.prediction import apply
from pointforms.estimators.saved_values import Attribute
from pointforms.estimators.targets import NumberTargets


class PointFormRegressor(ExplainsItself, RegressorMixin, PointFormEstimator):  # type: ignore[misc]
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
        Their names, if the clouds of `fit` were :class:`pointforms.Clouds` with names other than
        x0, x1, … Later clouds with the same names in another order are put in this order.
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

    _learned = PointFormEstimator._learned | {
        "target_mean_": Attribute(list[FiniteFloat], "outputs"),
        "target_scale_": Attribute(list[FiniteFloat], "outputs"),
        "single_target_": Attribute(bool),
    }

    def fit(
        self,
        clouds: Any,
        y: Any,
        groups: Any = None,
        sample_weight: Any = None,
        covariates: Any = None,
        batch: Any = None,
    ) -> Self:
        """Learn to predict numbers.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The training clouds, or their Gram fields.
        y : array-like, shape (N,) or (N, targets)
            The numbers.
        groups : array-like, shape (N,), or None, default None
            Clouds of one group stay on one side of the validation split.
        sample_weight : array-like, shape (N,), or None, default None
            Weights of the clouds in the training loss, of which only the ratios matter. A cloud of
            weight 0 is neither trained nor validated on. The validation loss has no weights.
        covariates : data frame, mapping or array-like, shape (N, c), or None, default None
            What is known about whole clouds, such as age and sex. Numbers are standardised, text
            becomes zeros and ones. Predictions need the same columns.
        batch : array-like, shape (N,), or None, default None
            The batch in which each cloud was measured, for frame="batch".

        Returns
        -------
        Self
            The fitted regressor.
        """
        self.check_options()
        clouds = cloud_list(clouds)
        targets = NumberTargets.of(y, len(clouds), self.class_weight, sample_weight)
        self._fit(clouds, targets, groups, covariates, batch)
        self.target_mean_, self.target_scale_ = targets.mean, targets.scale
        self.single_target_ = targets.single
        return self

    def predict(self, clouds: Any, covariates: Any = None, batch: Any = None) -> np.ndarray:
        """Predict the numbers of clouds.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds, or their Gram fields.
        covariates : data frame, mapping or array-like, or None, default None
            The columns that were given to `fit`.
        batch : array-like, shape (N,), or None, default None
            Batches, for frame="batch". One that `fit` has not seen is centred by its own clouds.

        Returns
        -------
        ndarray, shape (N,) or (N, targets)
            As y was in `fit`.
        """
        store = self._prediction_store(clouds, covariates, batch)
        outputs = apply(self.model_, store).double().cpu().numpy()
        return self._in_target_units(outputs)

    def predict_out_of_fold(
        self, clouds: Any, of: Any, covariates: Any = None, batch: Any = None
    ) -> np.ndarray:
        """Predict training clouds, or altered versions of them, by members that held them out.

        Members have one number of epochs in common, which all held-out clouds chose together.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            Training clouds, or versions of them.
        of : array-like of int, shape (N,)
            The training cloud that each is a version of, as its position in `fit`; see
            `training_positions`.
        covariates : data frame, mapping or array-like, or None, default None
            The columns that were given to `fit`.
        batch : array-like, shape (N,), or None, default None
            Batches, for frame="batch".

        Returns
        -------
        ndarray, shape (N,) or (N, targets)
            NaN for a cloud that every member was trained on, because an equal one is in another
            fold.
        """
        found = self._out_of_fold(clouds, of, covariates, batch)
        return self._in_target_units(mean_by_row(found, len(clouds)))

    def _in_target_units(self, outputs: np.ndarray) -> np.ndarray:
        numbers: np.ndarray = outputs * self.target_scale_ + self.target_mean_
        return numbers[:, 0] if self.single_target_ else numbers

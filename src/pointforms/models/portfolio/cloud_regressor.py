"""CloudRegressor: the regressor of clouds to start with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from pydantic import FiniteFloat
from sklearn.base import RegressorMixin

from pointforms.clouds import cloud_list
from pointforms.estimators.saved_values import Attribute
from pointforms.estimators.targets import NumberTargets, Targets
from pointforms.models.portfolio.portfolio import CloudPortfolio
from pointforms.support.bootstrap import weighted_r2
from pointforms.support.suggestions import suggests_parameters


@dataclass(kw_only=True, eq=False, repr=False)
class CloudRegressor(RegressorMixin, CloudPortfolio):  # type: ignore[misc]
    """Predict one or more numbers per cloud by a portfolio of point-forms and summaries.

    This is the regressor to start with. It works as :class:`pointforms.CloudClassifier` does, with
    the square error in place of the log loss, and R² in place of AUROC.

    Parameters
    ----------
    [options of CloudPortfolio]

    Attributes
    ----------
    oof_predictions_ : ndarray, shape of y
        Predictions for the training clouds, out of fold; NaN for a cloud of weight 0.
    oof_score_ : float
        Their R², the mean over targets.
    oof_scores_ : dict
        "r2" and "rmse" of the same predictions, the latter in standard deviations of the targets.
    [attributes of CloudPortfolio]

    Examples
    --------
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=20, points=16)
    >>> size = [abs(cloud).max() for cloud in task.clouds]
    >>> reg = pf.CloudRegressor(parts=("linear", "forest"), random_state=0)
    >>> reg.fit(task.clouds, size).predict(task.clouds[:3]).shape
    (3,)
    """

    _learned = CloudPortfolio._learned | {
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
            The training clouds.
        y : array-like, shape (N,) or (N, targets)
            The numbers.
        groups : array-like, shape (N,), or None, default None
            Clouds of one group stay in one fold.
        sample_weight : array-like, shape (N,), or None, default None
            Weights of the clouds, of which only the ratios matter. A cloud of weight 0 is left out.
        covariates : data frame, mapping or array-like, shape (N, c), or None, default None
            What is known about whole clouds, such as age and sex.
        batch : array-like, shape (N,), or None, default None
            The batch in which each cloud was measured; the centre of its batch is subtracted from
            each cloud.

        Returns
        -------
        Self
            The fitted regressor.
        """
        self.check_options()
        clouds = cloud_list(clouds)
        targets = NumberTargets.of(y, len(clouds), None, sample_weight)
        self._fit(clouds, targets, groups, covariates, batch)
        self.target_mean_, self.target_scale_ = targets.mean, targets.scale
        self.single_target_ = targets.single
        return self

    def _scores(self, targets: Targets, predicted: np.ndarray) -> dict[str, float]:
        y = targets.values
        error = float(np.sqrt(np.square(predicted - y).mean()))
        return {"r2": float(weighted_r2(y, predicted, np.ones((1, len(y))))[0]), "rmse": error}

    def predict(self, clouds: Any, covariates: Any = None, batch: Any = None) -> np.ndarray:
        """Predict the numbers of clouds.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds.
        covariates : data frame, mapping or array-like, or None, default None
            The columns that were given to `fit`.
        batch : array-like, shape (N,), or None, default None
            The batch of each cloud, if `fit` was given batches.

        Returns
        -------
        ndarray, shape (N,) or (N, targets)
            As y was in `fit`.
        """
        return self._in_target_units(self._predict(clouds, covariates, batch))

    def predict_out_of_fold(
        self, clouds: Any, of: Any, covariates: Any = None, batch: Any = None
    ) -> np.ndarray:
        """Predict training clouds, or altered versions of them, by models that held them out.

        The weights of the parts are those that were learned without the cloud's fold.

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
            The batch of each cloud, if `fit` was given batches.

        Returns
        -------
        ndarray, shape (N,) or (N, targets)
            NaN for a cloud that no model held out: one of weight 0, or one with an equal cloud in
            another fold.
        """
        return self._in_target_units(self._predict_out_of_fold(clouds, of, covariates, batch))

    def _in_target_units(self, outputs: np.ndarray) -> np.ndarray:
        numbers: np.ndarray = outputs * self.target_scale_ + self.target_mean_
        return numbers[:, 0] if self.single_target_ else numbers


CloudRegressor.__init__ = suggests_parameters(CloudRegressor.__init__)  # type: ignore[method-assign]

"""CloudRegressor: the regressor of clouds to start with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pointforms.estimators.predicts_numbers import TARGET_UNITS, PredictsNumbers
from pointforms.estimators.targets import Targets
from pointforms.models.portfolio.portfolio import CloudPortfolio
from pointforms.support.bootstrap import weighted_r2
from pointforms.support.suggestions import suggests_parameters


@dataclass(kw_only=True, eq=False, repr=False)
class CloudRegressor(PredictsNumbers, CloudPortfolio):  # type: ignore[misc]
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

    _learned = CloudPortfolio._learned | TARGET_UNITS

    def _scores(self, targets: Targets, predicted: np.ndarray) -> dict[str, float]:
        y = targets.values
        error = float(np.sqrt(np.square(predicted - y).mean()))
        return {"r2": float(weighted_r2(y, predicted, np.ones((1, len(y))))[0]), "rmse": error}


CloudRegressor.__init__ = suggests_parameters(CloudRegressor.__init__)  # type: ignore[method-assign]

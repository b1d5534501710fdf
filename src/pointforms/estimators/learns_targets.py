"""What classifiers and regressors of clouds have in common: `fit` and `predict_out_of_fold`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pointforms.clouds import cloud_list
from pointforms.estimators.explaining import ExplainsItself
from pointforms.estimators.per_cloud import check_order
from pointforms.estimators.targets import Targets
from pointforms.support.threads import one_thread


class LearnsTargets(ExplainsItself):
    """A mixin for estimators that learn classes or numbers.

    It goes with a class that has `check_options`, `_fit` and `_predict`.
    """

    _targets_type: ClassVar[type[Any]]

    if TYPE_CHECKING:  # of the class it goes with

        def check_options(self) -> None: ...

        def _fit(
            self, clouds: Any, targets: Targets, groups: Any, covariates: Any, batch: Any
        ) -> None: ...

        def _predict(self, clouds: Any, covariates: Any, batch: Any) -> np.ndarray: ...

        def _places_of(self, clouds: Any, of: Any) -> Any: ...

        def _predict_out_of_fold(
            self, clouds: Any, of: Any, covariates: Any, batch: Any
        ) -> np.ndarray: ...

    def fit(
        self,
        clouds: Any,
        y: Any,
        groups: Any = None,
        sample_weight: Any = None,
        covariates: Any = None,
        batch: Any = None,
    ) -> Self:
        """Learn to predict the classes of clouds, or numbers.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The training clouds, or what `prepare` returned for them.
        y : array-like, shape (N,), or for a regressor (N, targets)
            A label of any kind per cloud; for a regressor, one or more numbers.
        groups : array-like, shape (N,), or None, default None
            Clouds of one group, such as those of one patient, are held out together.
        sample_weight : array-like, shape (N,), or None, default None
            Weights of the clouds in the training loss, of which only the ratios matter. A cloud of
            weight 0 is left out.
        covariates : data frame, mapping or array-like, shape (N, c), or None, default None
            What is known about whole clouds, such as age and sex. Numbers are standardised, text
            becomes zeros and ones. Predictions need the same columns.
        batch : array-like, shape (N,), or None, default None
            The batch in which each cloud was measured. A network needs it for frame="batch"; a
            portfolio that is given batches subtracts from each cloud the centre of its batch.

        Returns
        -------
        Self
            The fitted estimator.
        """
        self.check_options()
        clouds = cloud_list(clouds)
        check_order(
            clouds, y=y, groups=groups, sample_weight=sample_weight, covariates=covariates,
            batch=batch,
        )  # fmt: skip
        class_weight = getattr(self, "class_weight", None)
        targets = self._targets_type.of(y, len(clouds), class_weight, sample_weight)
        with one_thread():
            self._fit(clouds, targets, groups, covariates, batch)
        self._keep_targets(targets)
        return self

    def predict_out_of_fold(
        self, clouds: Any, of: Any = None, covariates: Any = None, batch: Any = None
    ) -> np.ndarray:
        """Predict training clouds, or altered versions of them, by models that held them out.

        Members of an ensemble have one number of epochs in common, which all held-out clouds chose
        together. The parts of a portfolio have weights that were learned on predictions for the
        other folds: not on those for the cloud, but by models that were trained on it.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            Training clouds, or versions of them.
        of : array-like of int, shape (N,), or None, default None
            The training cloud that each is a version of, as its position in `fit`. None finds
            clouds that are as they were in `fit`, in any order.
        covariates : data frame, mapping or array-like, or None, default None
            The columns that were given to `fit`.
        batch : array-like, shape (N,), or None, default None
            The batch of each cloud, if `fit` was given batches.

        Returns
        -------
        ndarray, shape (N, C), or of a regressor (N,) or (N, targets)
            Probabilities, or numbers; NaN for a cloud that no model held out: one of weight 0, or
            one with an equal cloud in another fold.
        """
        check_order(clouds, covariates=covariates, batch=batch)
        places = self._places_of(clouds, of)
        with one_thread():
            predicted = self._predict_out_of_fold(clouds, places, covariates, batch)
        return self._in_target_units(predicted)

    def _keep_targets(self, targets: Any) -> None:
        """Keep what predictions need to know of the targets."""
        raise NotImplementedError

    def _in_target_units(self, predicted: np.ndarray) -> np.ndarray:
        """Return what the model predicts in the units and the shape of y."""
        return predicted

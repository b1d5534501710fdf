"""The scikit-learn shell around a network that classifies clouds."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from pointforms.clouds import cloud_list
from pointforms.estimators.explaining import ExplainsItself
from pointforms.estimators.network_estimator import NetworkEstimator, mean_by_row
from pointforms.estimators.prediction import class_probabilities
from pointforms.estimators.targets import ClassTargets


class NetworkClassifier(ExplainsItself, ClassifierMixin, NetworkEstimator):  # type: ignore[misc]
    """Base class of every classifier that trains a network on clouds."""

    def fit(
        self,
        clouds: Any,
        y: Any,
        groups: Any = None,
        sample_weight: Any = None,
        covariates: Any = None,
        batch: Any = None,
    ) -> Self:
        """Learn to predict the class of a cloud.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The training clouds, or what `prepare` returned for them.
        y : array-like, shape (N,)
            A label of any kind per cloud.
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
            The fitted classifier.
        """
        self.check_options()
        clouds = cloud_list(clouds)
        targets = ClassTargets.of(y, len(clouds), self.class_weight, sample_weight)
        self._fit(clouds, targets, groups, covariates, batch)
        self.classes_ = targets.classes
        return self

    def predict_proba(self, clouds: Any, covariates: Any = None, batch: Any = None) -> np.ndarray:
        """Predict class probabilities.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds, or what `prepare` returned for them.
        covariates : data frame, mapping or array-like, or None, default None
            The columns that were given to `fit`.
        batch : array-like, shape (N,), or None, default None
            Batches, for frame="batch". One that `fit` has not seen is centred by its own clouds.

        Returns
        -------
        ndarray, shape (N, C)
            One column per class, in the order of `classes_`.
        """
        store = self._prediction_store(clouds, covariates, batch)
        return class_probabilities(self.model_, store)

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
        ndarray, shape (N, C)
            Probabilities; NaN for a cloud that every member was trained on, because an equal one is
            in another fold.
        """
        found = self._out_of_fold(clouds, of, covariates, batch)
        parts = [(rows, softmax(outputs, axis=1)) for rows, outputs in found]
        return mean_by_row(parts, len(clouds))

    def predict(self, clouds: Any, covariates: Any = None, batch: Any = None) -> np.ndarray:
        """Predict the most probable class.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds, or what `prepare` returned for them.
        covariates : data frame, mapping or array-like, or None, default None
            The columns that were given to `fit`.
        batch : array-like, shape (N,), or None, default None
            Batches, for frame="batch". One that `fit` has not seen is centred by its own clouds.

        Returns
        -------
        ndarray, shape (N,)
            One label per cloud.
        """
        best = self.predict_proba(clouds, covariates, batch).argmax(1)
        labels: np.ndarray = self.classes_[best]
        return labels

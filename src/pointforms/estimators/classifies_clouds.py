"""What all classifiers of clouds have in common: `predict_proba`, `predict` and `score`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from pointforms.estimators.learns_targets import LearnsTargets
from pointforms.estimators.per_cloud import check_order
from pointforms.estimators.targets import ClassTargets
from pointforms.support.threads import one_thread


class ClassifiesClouds(LearnsTargets, ClassifierMixin):  # type: ignore[misc]
    """A mixin that turns what predicts probabilities into a classifier.

    It goes with a class that has `check_options`, `_fit` and `_predict`.
    """

    _targets_type = ClassTargets

    def _keep_targets(self, targets: ClassTargets) -> None:
        self.classes_ = targets.classes

    def predict_proba(self, clouds: Any, covariates: Any = None, batch: Any = None) -> np.ndarray:
        """Predict class probabilities.

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
        ndarray, shape (N, C)
            One column per class, in the order of `classes_`.
        """
        check_order(clouds, covariates=covariates, batch=batch)
        with one_thread():
            return self._predict(clouds, covariates, batch)

    def predict(self, clouds: Any, covariates: Any = None, batch: Any = None) -> np.ndarray:
        """Predict the most probable class.

        Takes what :meth:`predict_proba` takes.

        Returns
        -------
        ndarray, shape (N,)
            One label per cloud.
        """
        best = self.predict_proba(clouds, covariates, batch).argmax(1)
        labels: np.ndarray = self.classes_[best]
        return labels

    def score(
        self,
        clouds: Any,
        y: Any,
        sample_weight: Any = None,
        covariates: Any = None,
        batch: Any = None,
    ) -> float:
        """Return the accuracy of the predicted classes.

        Takes what :meth:`predict_proba` takes, with the labels `y` and weights of the clouds.
        """
        check_order(clouds, y=y, sample_weight=sample_weight)
        predicted = self.predict(clouds, covariates, batch)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

"""What all classifiers of clouds have in common: `fit`, `predict_proba`, `predict` and `score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from pointforms.clouds import cloud_list
from pointforms.estimators.explaining import ExplainsItself
from pointforms.estimators.targets import ClassTargets, Targets


class ClassifiesClouds(ExplainsItself, ClassifierMixin):  # type: ignore[misc]
    """A mixin that turns what predicts probabilities into a classifier.

    It goes with a class that has `check_options`, `_fit` and `_predict`.
    """

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
        """Learn to predict the class of a cloud.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The training clouds, or what `prepare` returned for them.
        y : array-like, shape (N,)
            A label of any kind per cloud.
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
            The fitted classifier.
        """
        self.check_options()
        clouds = cloud_list(clouds)
        class_weight = getattr(self, "class_weight", None)
        targets = ClassTargets.of(y, len(clouds), class_weight, sample_weight)
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
            The batch of each cloud, if `fit` was given batches. One that `fit` has not seen is
            centred by its own clouds.

        Returns
        -------
        ndarray, shape (N, C)
            One column per class, in the order of `classes_`.
        """
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
        ndarray, shape (N, C)
            Probabilities; NaN for a cloud that no model held out: one of weight 0, or one with an
            equal cloud in another fold.
        """
        return self._predict_out_of_fold(clouds, self._places_of(clouds, of), covariates, batch)

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
        predicted = self.predict(clouds, covariates, batch)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

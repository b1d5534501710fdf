"""CloudClassifier: the classifier of clouds to start with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from pointforms.clouds import cloud_list
from pointforms.estimators.metrics import scores
from pointforms.estimators.saved_values import Attribute, Labels
from pointforms.estimators.targets import ClassTargets, Targets
from pointforms.models.portfolio.portfolio import CloudPortfolio
from pointforms.support.options import Positive
from pointforms.support.suggestions import suggests_parameters


@dataclass(kw_only=True, eq=False, repr=False)
class CloudClassifier(ClassifierMixin, CloudPortfolio):  # type: ignore[misc]
    """Classify clouds by a portfolio of point-forms and summaries.

    This is the classifier to start with. Each part is trained five times, each time without a fifth
    of the training clouds, groups kept whole. What the parts predict for the clouds that they have
    not seen teaches their weights, and tells what each is worth: after `fit`, `oof_score_` is the
    AUROC of these predictions, and `contributions_` says whether the shape of the clouds matters.

    Parameters
    ----------
    [options of CloudPortfolio]
    class_weight : "balanced", dict or None, default None
        Weights of the classes: None weighs all clouds equally, "balanced" all classes, and a
        dictionary maps labels to weights.

    Attributes
    ----------
    classes_ : ndarray, shape (C,)
        The labels, sorted.
    oof_predictions_ : ndarray, shape (N, C)
        Probabilities of the training clouds, out of fold: by models that were not trained on the
        cloud, with weights learned on the clouds of other folds. NaN for a cloud of weight 0.
    oof_score_ : float
        Their AUROC; with more than two classes the mean of each class against the rest.
    oof_scores_ : dict
        "auroc", "accuracy", "log_loss" and "brier" of the same predictions.
    [attributes of CloudPortfolio]

    See Also
    --------
    pointforms.PointFormClassifier : One network, whose forms can be looked at.
    pointforms.load : Read a saved estimator.

    Examples
    --------
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=20, points=16)
    >>> clf = pf.CloudClassifier(parts=("linear", "forest"), random_state=0)
    >>> clf.fit(task.clouds, task.labels, groups=task.groups).predict_proba(task.clouds).shape
    (20, 2)
    """

    _learned = CloudPortfolio._learned | {"classes_": Attribute(Labels, "outputs")}

    class_weight: Literal["balanced"] | dict[Any, Positive] | None = None

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
            The training clouds.
        y : array-like, shape (N,)
            A label of any kind per cloud.
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
            The fitted classifier.
        """
        self.check_options()
        clouds = cloud_list(clouds)
        targets = ClassTargets.of(y, len(clouds), self.class_weight, sample_weight)
        self._fit(clouds, targets, groups, covariates, batch)
        self.classes_ = targets.classes
        return self

    def _scores(self, targets: Targets, predicted: np.ndarray) -> dict[str, float]:
        return scores(targets.values, predicted)

    def predict_proba(self, clouds: Any, covariates: Any = None, batch: Any = None) -> np.ndarray:
        """Predict class probabilities.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds.
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
        ndarray, shape (N, C)
            One column per class; NaN for a cloud that no model held out: one of weight 0, or one
            with an equal cloud in another fold.
        """
        return self._predict_out_of_fold(clouds, of, covariates, batch)

    def predict(self, clouds: Any, covariates: Any = None, batch: Any = None) -> np.ndarray:
        """Predict the most probable class.

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
        ndarray, shape (N,)
            One label per cloud.
        """
        best = self.predict_proba(clouds, covariates, batch).argmax(1)
        labels: np.ndarray = self.classes_[best]
        return labels


CloudClassifier.__init__ = suggests_parameters(CloudClassifier.__init__)  # type: ignore[method-assign]

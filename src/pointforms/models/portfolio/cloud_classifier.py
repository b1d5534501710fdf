"""CloudClassifier: the classifier of clouds to start with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pointforms.estimators.classifies_clouds import ClassifiesClouds
from pointforms.estimators.metrics import scores
from pointforms.estimators.saved_values import Attribute, Labels
from pointforms.estimators.targets import Targets
from pointforms.models.portfolio.portfolio import CloudPortfolio
from pointforms.support.options import Positive
from pointforms.support.suggestions import suggests_parameters


@dataclass(kw_only=True, eq=False, repr=False)
class CloudClassifier(ClassifiesClouds, CloudPortfolio):  # type: ignore[misc]
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

    def _scores(self, targets: Targets, predicted: np.ndarray) -> dict[str, float]:
        return scores(targets.values, predicted)


CloudClassifier.__init__ = suggests_parameters(CloudClassifier.__init__)  # type: ignore[method-assign]

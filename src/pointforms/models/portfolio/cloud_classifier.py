"""CloudClassifier: the classifier of clouds to start with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from pointforms.clouds import cloud_list
from pointforms.estimators.metrics import scores
from pointforms.estimators.targets import ClassTargets, Targets
from pointforms.models.portfolio.portfolio import CloudPortfolio
from pointforms.support.options import Positive


@dataclass(kw_only=True, eq=False, repr=False)
class CloudClassifier(ClassifierMixin, CloudPortfolio):  # type: ignore[misc]
    """Classify clouds by a portfolio: point-forms, and heads on pooled summaries.

    This is the classifier to start with.
    """

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
        """Learn to predict the class of a cloud."""
        self.check_options()
        clouds = cloud_list(clouds)
        targets = ClassTargets.of(y, len(clouds), self.class_weight, sample_weight)
        self.classes_ = targets.classes
        self._fit(clouds, targets, groups, covariates, batch)
        return self

    def _score(
        self, targets: Targets, pooled: np.ndarray, predicted: dict[str, np.ndarray]
    ) -> None:
        self.oof_scores_ = scores(targets.values, pooled)
        self.oof_score_ = self.oof_scores_["auroc"]
        self.part_scores_ = {n: scores(targets.values, p) for n, p in predicted.items()}
        self.validation_loss_ = self.oof_scores_["log_loss"]

    def predict_proba(self, clouds: Any, covariates: Any = None, batch: Any = None) -> np.ndarray:
        """Predict class probabilities."""
        return self._predict(clouds, covariates, batch)

    def predict(self, clouds: Any, covariates: Any = None, batch: Any = None) -> np.ndarray:
        """Predict the most probable class."""
        best = self.predict_proba(clouds, covariates, batch).argmax(1)
        labels: np.ndarray = self.classes_[best]
        return labels

"""The scikit-learn shell around a network that classifies clouds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from pointforms.estimators.classifies_clouds import ClassifiesClouds
from pointforms.estimators.member_outputs import mean_by_row, outputs_out_of_fold
from pointforms.estimators.network_estimator import NetworkEstimator
from pointforms.estimators.prediction import class_probabilities


class NetworkClassifier(ClassifiesClouds, NetworkEstimator):  # type: ignore[misc]
    """Base class of every classifier that trains a network on clouds."""

    def _predict(self, clouds: Any, covariates: Any, batch: Any) -> np.ndarray:
        """Return class probabilities: (N, C)."""
        store = self._prediction_store(clouds, covariates, batch)
        return class_probabilities(self.model_, store)

    def _predict_out_of_fold(self, clouds: Any, of: Any, covariates: Any, batch: Any) -> np.ndarray:
        """Return class probabilities by members that held out the training clouds `of`: (N, C)."""
        found = outputs_out_of_fold(self, clouds, of, covariates, batch)
        parts = [(rows, softmax(outputs, axis=1)) for rows, outputs in found]
        return mean_by_row(parts, len(clouds))

"""Support vector machines with Gaussian kernel and calibrated probabilities as heads."""

from __future__ import annotations

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pointforms.models.heads.fitted_head import FittedHead
from pointforms.models.heads.inner_folds import Folds
from pointforms.models.heads.weighted_scaler import fitted_scaler

# C, and γ in units of 1 / features, which suits standardised features.
_C = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_GAMMA = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_DEFAULT = (1.0, 1.0)


def fit_svm(
    X: np.ndarray, y: np.ndarray, folds: Folds, seed: int, weights: np.ndarray | None = None
) -> FittedHead:
    """Fit an SVM on standardised features; its penalty and kernel width are chosen."""
    return _fit(fitted_scaler(X, weights), X, y, folds, weights)


def fit_kernel(
    X: np.ndarray, y: np.ndarray, folds: Folds, seed: int, weights: np.ndarray | None = None
) -> FittedHead:
    """Fit an SVM that sees the distances between features as they are."""
    # one unit for all features: ratios of distances stay what they are
    scaler = fitted_scaler(X, weights)
    spread = float(np.sqrt(scaler.var_.mean()))
    scaler.scale_ = np.full(X.shape[1], spread if spread > 0 else 1.0)
    return _fit(scaler, X, y, folds, weights)


def _fit(
    scaler: StandardScaler, X: np.ndarray, y: np.ndarray, folds: Folds, weights: np.ndarray | None
) -> FittedHead:
    scaled = scaler.transform(X)
    squared = euclidean_distances(scaled, squared=True)
    given = {"sample_weight": weights}
    best, (C, gamma) = np.inf, _DEFAULT
    inner = None
    for width in _GAMMA if folds else ():
        kernel = np.exp(-width / X.shape[1] * squared)
        for penalty in _C:
            model = SVC(kernel="precomputed", C=penalty)
            margins = cross_val_predict(
                model, kernel, y, cv=folds, method="decision_function", params=given
            )
            probabilities = _calibrated(margins.reshape(len(y), -1), y, weights)
            loss = float(log_loss(y, probabilities, sample_weight=weights))
            if loss < best:
                best, C, gamma, inner = loss, penalty, width, probabilities
    model = SVC(C=C, gamma=gamma / X.shape[1])
    # margins of clouds that the SVM was not fitted on, where there are folds
    everything = np.arange(len(y))
    calibrated = CalibratedClassifierCV(
        model, method="sigmoid", cv=folds or [(everything, everything)], ensemble=False
    )
    chosen = {"C": C, "gamma": gamma / X.shape[1]} if folds else {}
    calibrated.fit(scaled, y, sample_weight=weights)
    return FittedHead(make_pipeline(scaler, calibrated), chosen, best, inner)


def _calibrated(margins: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the probabilities that a logistic curve turns margins (N, 1 or C) into: (N, C)."""
    scaled = fitted_scaler(margins, weights).transform(margins)
    curve = LogisticRegression(max_iter=1000).fit(scaled, y, weights)
    return np.asarray(curve.predict_proba(scaled))

"""Standardisation of features whose clouds have weights."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import StandardScaler


def fitted_scaler(X: np.ndarray, weights: np.ndarray | None) -> StandardScaler:
    # Rounding can make the weighted variance of a constant feature negative. StandardScaler then
    # takes its root, warns, and treats the feature as constant.
    with np.errstate(invalid="ignore"):
        return StandardScaler().fit(X, sample_weight=weights)

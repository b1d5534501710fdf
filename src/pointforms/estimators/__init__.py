"""Training, prediction, estimators and their storage."""

from pointforms.estimators.predictors import (
    PointFormClassifier,
    PointFormRegressor,
    PointFormTransformer,
)
from pointforms.estimators.saving import load

__all__ = ["PointFormClassifier", "PointFormRegressor", "PointFormTransformer", "load"]

"""Training, prediction, estimators and their storage."""

from pointforms.learn.estimators import (
    PointFormClassifier,
    PointFormRegressor,
    PointFormTransformer,
)
from pointforms.learn.persistence import load

__all__ = ["PointFormClassifier", "PointFormRegressor", "PointFormTransformer", "load"]

"""Estimators with scikit-learn's conventions on lists of clouds, and cross-validated fits."""

from pointforms.estimators.classifier import PointFormClassifier
from pointforms.estimators.cross_fitting import CrossFit, cross_fit
from pointforms.estimators.metrics import auroc, scores
from pointforms.estimators.regressor import PointFormRegressor
from pointforms.estimators.saving import load, save
from pointforms.estimators.transformer import PointFormTransformer

__all__ = [
    "CrossFit",
    "PointFormClassifier",
    "PointFormRegressor",
    "PointFormTransformer",
    "auroc",
    "cross_fit",
    "load",
    "save",
    "scores",
]

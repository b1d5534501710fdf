"""Estimators with scikit-learn's conventions on lists of clouds, and cross-validated fits."""

from pointforms.estimators.classifier import PointFormClassifier
from pointforms.estimators.cloud_predictions import prediction_table
from pointforms.estimators.cross_fitting import CrossFit, cross_fit
from pointforms.estimators.metrics import auroc, scores
from pointforms.estimators.provenance import Provenance
from pointforms.estimators.regressor import PointFormRegressor
from pointforms.estimators.saving import load, read_provenance, save
from pointforms.estimators.transformer import PointFormTransformer

__all__ = [
    "CrossFit",
    "PointFormClassifier",
    "PointFormRegressor",
    "PointFormTransformer",
    "Provenance",
    "auroc",
    "cross_fit",
    "load",
    "prediction_table",
    "read_provenance",
    "save",
    "scores",
]

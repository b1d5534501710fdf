"""Explanations of fitted models: learned forms, the features they rest on, single predictions."""

from pointforms.explain.basis_split import BasisForm, BasisSplit, basis_split
from pointforms.explain.coefficients import coefficients, form
from pointforms.explain.components import component_loadings
from pointforms.explain.directions import class_directions
from pointforms.explain.embedding import embed_distances
from pointforms.explain.energy import point_energy
from pointforms.explain.importance import importance
from pointforms.explain.importance_table import Importance, Reliance, StandIns
from pointforms.explain.matrix_distances import (
    ComparisonFeatures,
    comparison_distances,
    comparison_features,
)
from pointforms.explain.prediction import PredictionSplit, prediction_split
from pointforms.explain.span import span_correlation
from pointforms.loadings import Loadings

__all__ = [
    "BasisForm",
    "BasisSplit",
    "ComparisonFeatures",
    "Importance",
    "Loadings",
    "PredictionSplit",
    "Reliance",
    "StandIns",
    "basis_split",
    "class_directions",
    "coefficients",
    "comparison_distances",
    "comparison_features",
    "component_loadings",
    "embed_distances",
    "form",
    "importance",
    "point_energy",
    "prediction_split",
    "span_correlation",
]

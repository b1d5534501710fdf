"""Explanations of fitted models: learned forms, the features they rest on, single predictions."""

from pointforms.explain.basis_split import BasisForm, BasisSplit, basis_split
from pointforms.explain.coefficients import coefficients, form
from pointforms.explain.directions import class_directions
from pointforms.explain.energy import PredictionSplit, point_energy, prediction_split
from pointforms.explain.importance import importance
from pointforms.explain.importance_table import Importance, Reliance, StandIns
from pointforms.explain.span import span_correlation

__all__ = [
    "BasisForm",
    "BasisSplit",
    "Importance",
    "PredictionSplit",
    "Reliance",
    "StandIns",
    "basis_split",
    "class_directions",
    "coefficients",
    "form",
    "importance",
    "point_energy",
    "prediction_split",
    "span_correlation",
]

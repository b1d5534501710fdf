"""Explanations of fitted models: learned forms, the features they rest on, single predictions."""

from pointforms.explain.coefficients import coefficients, form
from pointforms.explain.directions import class_directions
from pointforms.explain.energy import PredictionSplit, point_energy, prediction_split
from pointforms.explain.importance import importance
from pointforms.explain.importance_table import Importance, Reliance, StandIns
from pointforms.explain.salience import BasisForm, Salience, salience
from pointforms.explain.span import span_correlation

__all__ = [
    "BasisForm",
    "Importance",
    "PredictionSplit",
    "Reliance",
    "Salience",
    "StandIns",
    "class_directions",
    "coefficients",
    "form",
    "importance",
    "point_energy",
    "prediction_split",
    "salience",
    "span_correlation",
]

"""Explanations of fitted models: learned forms, the features they rest on, single predictions."""

from pointforms.explain.coefficients import coefficients, form
from pointforms.explain.directions import class_directions
from pointforms.explain.energy import point_energy
from pointforms.explain.prediction import PredictionSplit, prediction_split
from pointforms.explain.salience import BasisForm, Salience, salience
from pointforms.explain.span import span_correlation

__all__ = [
    "BasisForm",
    "PredictionSplit",
    "Salience",
    "class_directions",
    "coefficients",
    "form",
    "point_energy",
    "prediction_split",
    "salience",
    "span_correlation",
]

"""What the learned forms say: their coefficients, what they rest on, and what drives a decision."""

from pointforms.explain.coefficients import coefficients, form
from pointforms.explain.directions import class_directions
from pointforms.explain.energy import PredictionSplit, point_energy, prediction_split
from pointforms.explain.salience import Salience, salience
from pointforms.explain.span import span_correlation

__all__ = [
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

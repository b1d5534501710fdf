"""Explanations of fitted models: learned forms, the features they rest on, single predictions."""

from pointforms.explain.coefficients import coefficients, form
from pointforms.explain.components import component_loadings
from pointforms.explain.directions import class_directions
from pointforms.explain.energy import point_energy
from pointforms.explain.prediction import PredictionSplit, prediction_split
from pointforms.explain.salience import BasisForm, Salience, salience
from pointforms.explain.span import span_correlation
from pointforms.loadings import Loadings

__all__ = [
    "BasisForm",
    "Loadings",
    "PredictionSplit",
    "Salience",
    "class_directions",
    "coefficients",
    "component_loadings",
    "form",
    "point_energy",
    "prediction_split",
    "salience",
    "span_correlation",
]

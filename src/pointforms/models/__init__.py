"""What point-forms are compared with: every model takes lists of clouds.

`names()` lists the models, the point-forms among them, and `make(name)` gives one, untrained.
"""

from pointforms.models.neural import NeuralClassifier
from pointforms.models.registry import MODELS, Model, count_parameters, make, names

__all__ = ["MODELS", "Model", "NeuralClassifier", "count_parameters", "make", "names"]

# The one list of public names: read by type checkers, and by lazy_loader at run time.

from .distances import distribution_distances as distribution_distances
from .neural import NeuralClassifier as NeuralClassifier
from .parameters import count_parameters as count_parameters
from .registry import MODELS as MODELS, Model as Model, make as make, names as names
from .regressors import REGRESSORS as REGRESSORS, make_regressor as make_regressor

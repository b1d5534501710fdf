# The one list of public names: read by type checkers, and by lazy_loader at run time.

from .cloud_classifier import CloudClassifier as CloudClassifier
from .cloud_regressor import CloudRegressor as CloudRegressor
from .contributions import Contribution as Contribution

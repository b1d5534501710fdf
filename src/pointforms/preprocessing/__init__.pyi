# The one list of public names: read by type checkers, and by lazy_loader at run time.

from .arcsinh import Arcsinh as Arcsinh
from .impute import Impute as Impute
from .landmarks import Landmarks as Landmarks
from .log import Log as Log
from .principal_components import PrincipalComponents as PrincipalComponents
from .select_features import SelectFeatures as SelectFeatures
from .standardize import Standardize as Standardize
from .subsample import Subsample as Subsample

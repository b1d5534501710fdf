# The one list of public names: read by type checkers, and by lazy_loader at run time.

from .dimension import estimate_dimension as estimate_dimension
from .field import GramField as GramField
from .geometry import Geometry as Geometry
from .gram import gram_field as gram_field, gram_fields as gram_fields
from .operators import carre_du_champ as carre_du_champ, laplacian as laplacian
from .settings import PAPER_SETTINGS as PAPER_SETTINGS, GramSettings as GramSettings

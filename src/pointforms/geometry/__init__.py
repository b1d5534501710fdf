"""From a cloud to its Gram field: neighbours, density, dimension, kernel, factor."""

from pointforms.geometry.dimension import estimate_dimension
from pointforms.geometry.field import GramField
from pointforms.geometry.gram import gram_field, gram_fields
from pointforms.geometry.operators import carre_du_champ, laplacian
from pointforms.geometry.settings import PAPER_SETTINGS, GramSettings

__all__ = [
    "PAPER_SETTINGS",
    "GramField",
    "GramSettings",
    "carre_du_champ",
    "estimate_dimension",
    "gram_field",
    "gram_fields",
    "laplacian",
]

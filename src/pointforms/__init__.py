"""Neural point-forms: learned geometric features of point clouds."""

from pointforms import tasks
from pointforms._version import __version__
from pointforms.estimators import (
    PointFormClassifier,
    PointFormRegressor,
    PointFormTransformer,
    load,
)
from pointforms.geometry import (
    PAPER_SETTINGS,
    carre_du_champ,
    gram_field,
    gram_fields,
    laplacian,
)
from pointforms.pairing import comparison_matrix, inner, inner_global

__all__ = [
    "PAPER_SETTINGS",
    "PointFormClassifier",
    "PointFormRegressor",
    "PointFormTransformer",
    "__version__",
    "carre_du_champ",
    "comparison_matrix",
    "gram_field",
    "gram_fields",
    "inner",
    "inner_global",
    "laplacian",
    "load",
    "tasks",
]

# Tasks of higher rooms join the catalogue of tasks.
from pointforms.paper.organoids import catalogue as _organoids  # noqa: F401

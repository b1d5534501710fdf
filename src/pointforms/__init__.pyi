# The one list of public names: read by type checkers, and by lazy_loader at run time.

from . import (
    bench as bench,
    estimators as estimators,
    explain as explain,
    exterior as exterior,
    geometry as geometry,
    io as io,
    manifolds as manifolds,
    models as models,
    nn as nn,
    plot as plot,
    preprocessing as preprocessing,
    tasks as tasks,
)
from ._version import __version__ as __version__
from .clouds import Clouds as Clouds
from .estimators import (
    PointFormClassifier as PointFormClassifier,
    PointFormRegressor as PointFormRegressor,
    PointFormTransformer as PointFormTransformer,
    load as load,
    save as save,
)
from .geometry import (
    PAPER_SETTINGS as PAPER_SETTINGS,
    Geometry as Geometry,
    GramField as GramField,
    GramSettings as GramSettings,
    carre_du_champ as carre_du_champ,
    gram_field as gram_field,
    gram_fields as gram_fields,
    laplacian as laplacian,
)
from .incomplete import incomplete_clouds as incomplete_clouds
from .io import (
    read_anndata as read_anndata,
    read_fcs as read_fcs,
    read_npz as read_npz,
    read_table as read_table,
)
from .models.portfolio import (
    CloudClassifier as CloudClassifier,
    CloudRegressor as CloudRegressor,
)
from .pairing import (
    comparison_matrix as comparison_matrix,
    inner as inner,
    inner_global as inner_global,
)
from .scverse import pl as pl, pp as pp, tl as tl

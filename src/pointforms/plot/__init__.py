"""Pictures: views of fitted models, the numbers behind them, and the figures of the paper."""

from pointforms.plot.fitted import (
    area_map,
    cloud_prediction,
    comparison_pca,
    energy_scatter,
    form_field,
    tangent_ellipses,
)
from pointforms.plot.form_data import area_map_data, comparison_pca_data, form_field_data

__all__ = [
    "area_map",
    "area_map_data",
    "cloud_prediction",
    "comparison_pca",
    "comparison_pca_data",
    "energy_scatter",
    "form_field",
    "form_field_data",
    "tangent_ellipses",
]

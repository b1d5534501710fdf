"""Every figure, drawn by matplotlib, and the numbers behind figures of learned forms."""

from pointforms.plot.basis_split_bars import basis_split
from pointforms.plot.comparison import fits, forest
from pointforms.plot.contact_sheets import contact_sheet
from pointforms.plot.distance_map import sample_map
from pointforms.plot.fitted import area_map, form_field, tangent_ellipses
from pointforms.plot.flows import flow_forms
from pointforms.plot.form_data import area_map_data, comparison_pca_data, form_field_data
from pointforms.plot.importance_bars import importance
from pointforms.plot.predictions import cloud_prediction, comparison_pca, energy_scatter
from pointforms.plot.style import save
from pointforms.plot.surfaces import torus_field
from pointforms.plot.svg import to_svg
from pointforms.plot.theory import Curve, RatePanel, convergence, density_check

__all__ = [
    "Curve",
    "RatePanel",
    "area_map",
    "area_map_data",
    "basis_split",
    "cloud_prediction",
    "comparison_pca",
    "comparison_pca_data",
    "contact_sheet",
    "convergence",
    "density_check",
    "energy_scatter",
    "fits",
    "flow_forms",
    "forest",
    "form_field",
    "form_field_data",
    "importance",
    "sample_map",
    "save",
    "tangent_ellipses",
    "to_svg",
    "torus_field",
]

"""Models, explanations and distances of AnnData (`pf.tl`)."""

from pointforms.scverse.cell_scores import contributions, energies
from pointforms.scverse.fitting import classify
from pointforms.scverse.gene_importance import importance
from pointforms.scverse.sample_anndata import to_anndata
from pointforms.scverse.sample_distances import distances, embed

__all__ = [
    "classify",
    "contributions",
    "distances",
    "embed",
    "energies",
    "importance",
    "to_anndata",
]

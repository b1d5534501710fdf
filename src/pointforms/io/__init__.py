"""Clouds from tables (parquet, CSV, data frames), FCS files, AnnData objects and NumPy archives."""

from pointforms.io.anndata import read_anndata, read_annotated_anndata
from pointforms.io.fcs import read_fcs
from pointforms.io.npz import read_annotated_npz, read_npz, save_npz
from pointforms.io.tables import read_annotated_table, read_table

__all__ = [
    "read_anndata",
    "read_annotated_anndata",
    "read_annotated_npz",
    "read_annotated_table",
    "read_fcs",
    "read_npz",
    "read_table",
    "save_npz",
]

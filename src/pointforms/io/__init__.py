"""Clouds from tables (parquet, CSV, data frames), FCS files, AnnData objects and NumPy archives."""

from pointforms.io.anndata import read_anndata, read_annotated_anndata
from pointforms.io.fcs import read_fcs
from pointforms.io.npz import read_annotated_npz, read_npz, save_npz
from pointforms.io.own_file import FileContent, read_file
from pointforms.io.read_options import ReadOptions
from pointforms.io.tables import read_annotated_table, read_table

__all__ = [
    "FileContent",
    "ReadOptions",
    "read_anndata",
    "read_annotated_anndata",
    "read_annotated_npz",
    "read_annotated_table",
    "read_fcs",
    "read_file",
    "read_npz",
    "read_table",
    "save_npz",
]

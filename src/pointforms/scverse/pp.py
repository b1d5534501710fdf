"""Clouds and samples of AnnData (`pf.pp`)."""

from pointforms.scverse.cell_clouds import clouds
from pointforms.scverse.sample_columns import samples

__all__ = ["clouds", "samples"]

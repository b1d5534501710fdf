"""Figures of AnnData (`pf.pl`)."""

from pointforms.plot.importance_bars import importance
from pointforms.scverse.sample_figure import samples

__all__ = ["importance", "samples"]

"""Results, models and theory as one HTML page that needs nothing else."""

from pointforms.report.page import write_report
from pointforms.report.views import ModelView

__all__ = ["ModelView", "write_report"]

"""Results, models and theory as one HTML page that needs nothing else."""

from pointforms.bench.page.document import write_report
from pointforms.bench.page.views import ModelView

__all__ = ["ModelView", "write_report"]

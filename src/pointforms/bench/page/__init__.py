"""Results, models and more as one HTML page that needs nothing else."""

from pointforms.bench.page.document import write_report
from pointforms.bench.page.sections import Article, Part, Picture, Section

__all__ = ["Article", "Part", "Picture", "Section", "write_report"]

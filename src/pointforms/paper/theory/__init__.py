"""The theory, measured: density correction and consistency where the truth is known."""

from pointforms.paper.theory.study import TheoryReport, run

__all__ = ["TheoryReport", "run"]

"""The theory, measured: density correction and consistency where the truth is known."""

from pointforms.paper.theory.checks import TheoryReport, run_checks

__all__ = ["TheoryReport", "run_checks"]

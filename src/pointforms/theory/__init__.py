"""The theory, measured: density correction and consistency where the truth is known."""

from pointforms.theory.lab import TheoryReport, run

__all__ = ["TheoryReport", "run"]

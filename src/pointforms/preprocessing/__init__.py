"""Transformers that prepare clouds for an estimator."""

from pointforms.preprocessing.landmarks import Landmarks

__all__ = ["Landmarks"]

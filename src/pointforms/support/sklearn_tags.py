"""What scikit-learn is told about every estimator of this package."""

from __future__ import annotations

from typing import Any


class TakesClouds:
    """A mixin for estimators whose input is a list of clouds instead of a table.

    It comes before :class:`sklearn.base.BaseEstimator` in the list of base classes.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

"""What every estimator on clouds shares with the others, whatever it fits."""

from __future__ import annotations

from typing import Any


class TakesClouds:
    """A mixin for estimators whose input is a list of clouds instead of a table.

    It comes before :class:`sklearn.base.BaseEstimator` in the list of base classes.
    """

    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def _check_width(self, features: int) -> None:
        """Raise an error unless clouds have as many features as those of `fit`."""
        if features != self.n_features_in_:
            raise ValueError(
                f"the clouds have {features} features, but {type(self).__name__} was fitted with "
                f"{self.n_features_in_}"
            )

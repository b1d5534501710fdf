"""What every estimator on clouds shares with the others, whatever it fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from pointforms.support.options import check_options, shown


class TakesClouds:
    """A mixin for estimators whose input is a list of clouds instead of a table.

    It comes before :class:`sklearn.base.BaseEstimator` in the list of base classes.
    """

    n_features_in_: int
    feature_names_in_: np.ndarray

    def check_options(self) -> None:
        """Raise an error if an option has a value that no fit can work with."""
        check_options(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def _forget(self, *names: str) -> None:
        """Remove attributes of an earlier fit."""
        for name in names:
            self.__dict__.pop(name, None)

    def _keep_names(self, clouds: Any) -> None:
        """Keep the names of the features of training clouds, if they carry any."""
        self._forget("feature_names_in_")
        if getattr(clouds, "has_names", False):
            self.feature_names_in_ = np.array(clouds.feature_names, dtype=object)

    def _by_name(self, clouds: Any) -> Any:
        """Return clouds with their features in the order of `fit`, if both carry names."""
        if not hasattr(self, "feature_names_in_") or not getattr(clouds, "has_names", False):
            return clouds
        expected, given = list(self.feature_names_in_), list(clouds.feature_names)
        if len(given) != len(expected):
            missing = [name for name in expected if name not in given]
            unknown = [name for name in given if name not in expected]
            parts = [f"missing {shown(missing)}"] if missing else []
            parts += [f"not known {shown(unknown)}"] if unknown else []
            raise ValueError(f"{self._other_width(len(given))}: {', '.join(parts)}")
        return clouds.in_order(expected)

    def _check_width(self, features: int) -> None:
        """Raise an error unless clouds have as many features as those of `fit`."""
        if features != self.n_features_in_:
            raise ValueError(self._other_width(features))

    def _other_width(self, features: int) -> str:
        return (
            f"the clouds have {features} features, but {type(self).__name__} was fitted with "
            f"{self.n_features_in_}"
        )

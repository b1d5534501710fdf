"""What all transformers from clouds to clouds have in common."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import PositiveInt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from pointforms.clouds import Clouds, as_clouds, cloud_list
from pointforms.estimators.saved_state import SavedState
from pointforms.estimators.saved_values import Attribute, Names
from pointforms.estimators.saving import save
from pointforms.preprocessing.saved_arrays import SavedArray, restore_transformer, save_transformer
from pointforms.support.cloud_estimator import TakesClouds
from pointforms.support.options import shown


class CloudTransformer(TakesClouds, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of transformers whose input and output are clouds.

    A subclass defines `_learn`, if it learns something from the training clouds, and `_points`.
    """

    # Fitted attributes that are saved: values as JSON has them, and arrays of numbers.
    _learned: ClassVar[dict[str, Attribute]] = {
        "n_features_in_": Attribute(PositiveInt),
        "feature_names_in_": Attribute(Names, length="features", optional=True),
    }
    _arrays: ClassVar[dict[str, SavedArray]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        # the output is clouds and never a data frame
        super().__init_subclass__(auto_wrap_output_keys=None, **options)

    # --- what a subclass defines ------------------------------------------------------------

    def _learn(self, clouds: Clouds) -> None:
        """Learn from training clouds."""

    @abstractmethod
    def _points(self, clouds: Clouds) -> Tensor:
        """Return the points of the result: (N, D')."""

    def _apply(self, clouds: Clouds) -> Clouds:
        return replace(clouds, points=self._points(clouds))

    def _names_out(self, names: list[str]) -> list[str]:
        """Return the names of the features of the result."""
        return names

    def _check_restored(self) -> None:
        """Raise a ValueError unless what was read from a file fits together."""

    # --- the methods of scikit-learn --------------------------------------------------------

    def fit(self, clouds: Any, y: Any = None) -> Self:
        """Learn from training clouds what :meth:`transform` needs.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The training clouds.
        y : None
            Ignored.

        Returns
        -------
        Self
            The fitted transformer.
        """
        self.check_options()
        given = self._read(clouds)
        self._keep_names(given)
        self.n_features_in_ = given.points.shape[1]
        self._learn(given)
        return self

    def transform(self, clouds: Any) -> Clouds:
        """Transform clouds.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds, with the features of `fit`.

        Returns
        -------
        Clouds
            With the ids of the given clouds.
        """
        check_is_fitted(self, "n_features_in_")
        given = self._in_order(self._read(clouds))
        return _finite(self._apply(given), given, self)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features of transformed clouds.

        Parameters
        ----------
        input_features : sequence of str or None, default None
            Names of the features of the clouds; by default those of `fit`, or x0, x1, ….

        Returns
        -------
        ndarray of str
            One name per feature.
        """
        check_is_fitted(self, "n_features_in_")
        names = self._names_in()
        if input_features is not None:
            given = [str(name) for name in input_features]
            if hasattr(self, "feature_names_in_") and given != names:
                raise ValueError(
                    f"input_features={shown(given)}: expected those of fit, {shown(names)}"
                )
            if len(given) != len(names):
                raise ValueError(f"input_features has {len(given)} names: expected {len(names)}")
            names = given
        return np.array(self._names_out(names), dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Change nothing: the output is always clouds.

        A pipeline that is told to return data frames tells all its steps.

        Parameters
        ----------
        transform : str or None, default None
            Ignored.
        """
        return self

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted transformer to a folder, from which :func:`pointforms.load` reads it.

        Parameters
        ----------
        folder : path-like
            A new or empty folder, or one with a saved estimator, which is replaced.
        """
        check_is_fitted(self, "n_features_in_")
        save(self, folder)

    # --- names, input and saving ------------------------------------------------------------

    def _read(self, clouds: Any) -> Clouds:
        """Return finite clouds, with names."""
        listed = cloud_list(clouds)
        if not isinstance(listed, Clouds):
            return Clouds.from_list(listed)
        if not bool(listed.points.isfinite().all()):
            as_clouds(listed, distinct=False)  # says which cloud and feature
        return listed

    def _in_order(self, clouds: Clouds) -> Clouds:
        """Return clouds with the features of `fit`, in their order."""
        ordered: Clouds = self._by_name(clouds)
        self._check_width(ordered.points.shape[1])
        return ordered

    def _names_in(self) -> list[str]:
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{j}" for j in range(self.n_features_in_)]

    def _to_saved(self) -> SavedState:
        return save_transformer(self)

    @classmethod
    def _from_saved(cls, state: SavedState) -> Self:
        restored: Self = restore_transformer(cls, state)
        return restored


class InvertibleTransformer(CloudTransformer):
    """Base class of transformers that can be undone."""

    @abstractmethod
    def _points_before(self, points: Tensor) -> Tensor:
        """Return the points that `_points` turned into these."""

    def inverse_transform(self, clouds: Any) -> Clouds:
        """Undo :meth:`transform`.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D')
            Transformed clouds.

        Returns
        -------
        Clouds
            Clouds with the features of `fit`.
        """
        check_is_fitted(self, "n_features_in_")
        given = self._read(clouds)
        names = list(self.get_feature_names_out())
        if given.points.shape[1] != len(names):
            raise ValueError(
                f"the clouds have {given.points.shape[1]} features: expected {len(names)}, those "
                "of transformed clouds"
            )
        if given.has_names and hasattr(self, "feature_names_in_"):
            given = given.in_order(names)
        before = replace(given, points=self._points_before(given.points))
        return _finite(self._renamed(before), given, self)

    def _renamed(self, clouds: Clouds) -> Clouds:
        return clouds


def called(clouds: Clouds, cloud: int) -> str:
    """Return how messages call a cloud: by its position, and by its name if it has one.

    Examples
    --------
    >>> called(Clouds.from_list([[[0.0]], [[1.0]]], ids=["a", "b"]), 1)
    "cloud 1 ('b')"
    """
    name = clouds.ids[cloud]
    return f"cloud {cloud}" if name == str(cloud) else f"cloud {cloud} ({name!r})"


def position(clouds: Clouds, row: int) -> tuple[int, int]:
    """Return the cloud that a row of all points belongs to, and the point in that cloud.

    Examples
    --------
    >>> position(Clouds.from_list([[[0.0], [1.0]], [[2.0]]]), 2)
    (1, 0)
    """
    offsets: Sequence[int] = clouds.offsets.tolist()
    cloud = int(np.searchsorted(offsets, row, side="right")) - 1
    return cloud, row - offsets[cloud]


def _finite(result: Clouds, given: Clouds, transformer: Any) -> Clouds:
    """Return transformed clouds, or raise an error if a value has become infinite or NaN."""
    finite = result.points.isfinite()
    if bool(finite.all()):
        return result
    row, column = (~finite).nonzero()[0].tolist()
    cloud, point = position(result, row)
    same = result.points.shape == given.points.shape
    value = f" ({float(given.points[row, column]):g})" if same else ""
    raise ValueError(
        f"{called(result, cloud)} has no finite result at point {point}, feature "
        f"{result.feature_names[column]!r}{value}: {int((~finite).sum())} such values of "
        f"{type(transformer).__name__}"
    )

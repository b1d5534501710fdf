"""Missing values and missing features, filled from the training clouds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from sklearn.impute import KNNImputer
from torch import Tensor

from pointforms.clouds import Clouds
from pointforms.incomplete import in_columns, incomplete_clouds
from pointforms.preprocessing.cloud_transformer import CloudTransformer
from pointforms.preprocessing.saved_arrays import SavedArray
from pointforms.preprocessing.subsample import sampled_points
from pointforms.support.options import Count, shown
from pointforms.support.suggestions import suggest

# Spread of a feature that is constant.
_CONSTANT = 1.0


@dataclass(eq=False, repr=False)
class Impute(CloudTransformer):
    """Fill missing values (NaN), and features that some clouds lack, from the training clouds.

    It takes what estimators refuse: clouds with NaN, and lists of data frames with different
    columns, whose features are all that some training cloud has. What is filled in is no
    measurement: a feature that a cloud lacks altogether gets one value for all its points by "mean"
    and "median", and by "neighbors" what points with similar other features had in training.

    Parameters
    ----------
    method : {"median", "mean", "neighbors"}, default "median"
        The median or mean of the feature over all training points; or its mean over the nearest
        training points, by the distance in the features that both points have, each in units of
        its standard deviation.
    neighbors : int, default 5
        Number of nearest training points.
    reference : int, default 2000
        Number of training points among which neighbours are searched, drawn at random. Both memory
        and time grow with it.

    Attributes
    ----------
    fill_ : ndarray, shape (D,)
        The median or mean of each feature over the training points that have it; the mean for
        "neighbors", where it is used if no training point has a feature in common.
    unit_ : ndarray, shape (D,)
        The standard deviation of each feature.
    reference_ : ndarray, shape (points, D)
        The training points among which neighbours are searched.
    n_features_in_ : int
        Number of features of the clouds, D.
    feature_names_in_ : ndarray of str, shape (D,)
        Their names, if the clouds of `fit` had names.

    Examples
    --------
    >>> import numpy as np, pandas as pd, pointforms as pf
    >>> full = pd.DataFrame({"CD3": [1.0, 2.0, 9.0], "CD4": [10.0, 20.0, 90.0]})
    >>> short = pd.DataFrame({"CD3": [2.1, np.nan]})
    >>> pf.preprocessing.Impute().fit_transform([full, short])[1].tolist()
    [[2.1, 20.0], [2.05, 20.0]]
    >>> nearest = pf.preprocessing.Impute("neighbors", neighbors=1).fit([full])
    >>> nearest.transform([short])[0][0].tolist()
    [2.1, 20.0]
    """

    method: Literal["median", "mean", "neighbors"] = "median"
    neighbors: Count = 5
    reference: Count = 2000

    _arrays: ClassVar[dict[str, SavedArray]] = {
        "fill_": SavedArray(("features",)),
        "unit_": SavedArray(("features",), positive=True),
        "reference_": SavedArray(("points", "features"), gaps=True, optional=True),
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read(self, clouds: Any) -> Clouds:
        return incomplete_clouds(clouds)

    def _learn(self, clouds: Clouds) -> None:
        self._forget("reference_")
        points = clouds.points.detach().double().cpu().numpy()
        for name, empty in zip(clouds.feature_names, np.isnan(points).all(0), strict=True):
            if empty:
                raise ValueError(f"no training cloud has a value of the feature {name!r}")
        average = np.nanmedian if self.method == "median" else np.nanmean
        self.fill_ = average(points, axis=0)
        spread = np.nanstd(points, axis=0)
        self.unit_ = np.where(spread > 0, spread, _CONSTANT)
        if self.method == "neighbors":
            known = points[~np.isnan(points).all(1)]
            self.reference_ = known[sampled_points(np.nan_to_num(known), self.reference, seed=0)]
            lacking = np.isnan(self.reference_).all(0)
            if lacking.any():
                name = clouds.feature_names[int(lacking.argmax())]
                raise ValueError(
                    f"none of the {len(self.reference_)} reference points has the feature {name!r}:"
                    f" increase reference={self.reference}"
                )

    def _in_order(self, clouds: Clouds) -> Clouds:
        """Return clouds with the features of `fit`, those that they lack filled with NaN."""
        if not hasattr(self, "feature_names_in_") or not clouds.has_names:
            return super()._in_order(clouds)
        expected = self._names_in()
        unknown = [name for name in clouds.feature_names if name not in expected]
        if unknown:
            raise ValueError(
                f"the clouds have the feature {unknown[0]!r}, which Impute was not fitted with: "
                f"{suggest(unknown[0], expected)}"
            )
        if len(clouds.feature_names) < len(expected) and clouds.loadings is not None:
            raise ValueError(f"the clouds lack components: expected {shown(expected)}")
        if len(clouds.feature_names) == len(expected):
            return clouds.in_order(expected)
        points = in_columns(clouds.points, clouds.feature_names, expected)
        return replace(clouds, points=points, feature_names=tuple(expected))

    def _points(self, clouds: Clouds) -> Tensor:
        points = clouds.points.detach().double().cpu().numpy()
        missing = np.isnan(points)
        if not missing.any():
            return clouds.points
        filled = np.where(missing, self.fill_, points)
        rows = missing.any(1) & ~missing.all(1)
        if self.method == "neighbors" and rows.any():
            filled[rows] = self._by_neighbors(points[rows])
        return torch.from_numpy(filled).to(clouds.points)

    def _by_neighbors(self, points: np.ndarray) -> np.ndarray:
        z = (self.reference_ - self.fill_) / self.unit_
        imputer = KNNImputer(n_neighbors=self.neighbors).set_output(transform="default").fit(z)
        scaled: np.ndarray = imputer.transform((points - self.fill_) / self.unit_)
        # values that were measured stay what they were, to the last digit
        return np.where(np.isnan(points), scaled * self.unit_ + self.fill_, points)

    def _check_restored(self) -> None:
        if (self.method == "neighbors") != hasattr(self, "reference_"):
            raise ValueError("its reference points do not fit its method")

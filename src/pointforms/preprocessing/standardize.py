"""Features in common units, learned from all training points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from pointforms.clouds import Clouds
from pointforms.estimators.units import Scale, Units
from pointforms.preprocessing.cloud_transformer import InvertibleTransformer
from pointforms.preprocessing.saved_arrays import SavedArray


@dataclass(eq=False, repr=False)
class Standardize(InvertibleTransformer):
    """Subtract the centre of each feature and divide by its unit, over all training points.

    The estimators that train networks do the same by their option `scale`; this is for what comes
    between, such as principal components, and for estimators without that option. A constant
    feature has the unit 1.

    Parameters
    ----------
    scale : {"standard", "isotropic", "robust"}, default "standard"
        Mean and standard deviation; the mean, and one unit for all features, the root of their
        mean variance; or median and interquartile range, which a few extreme values do not change
        (divided by 1.349, so that it is the standard deviation of a normal distribution).

    Attributes
    ----------
    center_ : ndarray, shape (D,)
        What is subtracted.
    unit_ : ndarray, shape (D,)
        What each feature is divided by.
    n_features_in_ : int
        Number of features of the clouds, D.
    feature_names_in_ : ndarray of str, shape (D,)
        Their names, if the clouds of `fit` had names.

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = [[[0.0, 100.0], [2.0, 300.0]]]
    >>> pf.preprocessing.Standardize().fit_transform(clouds)[0].tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """

    scale: Scale = "standard"

    _arrays: ClassVar[dict[str, SavedArray]] = {
        "center_": SavedArray(("features",)),
        "unit_": SavedArray(("features",), positive=True),
    }

    def _learn(self, clouds: Clouds) -> None:
        units = Units.learn(list(clouds), self.scale)
        self.center_, self.unit_ = units.center.numpy(), units.unit.numpy()

    def _points(self, clouds: Clouds) -> Tensor:
        x = clouds.points
        return ((x.double() - self._like(self.center_, x)) / self._like(self.unit_, x)).to(x.dtype)

    def _points_before(self, points: Tensor) -> Tensor:
        center, unit = self._like(self.center_, points), self._like(self.unit_, points)
        return (points.double() * unit + center).to(points.dtype)

    @staticmethod
    def _like(values: object, points: Tensor) -> Tensor:
        return torch.as_tensor(values, dtype=torch.float64, device=points.device)

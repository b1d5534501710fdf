"""Principal components of all training points, with their loadings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from pointforms.clouds import Clouds
from pointforms.estimators.saved_values import Attribute, Names
from pointforms.estimators.units import Scale, Units
from pointforms.loadings import Loadings
from pointforms.preprocessing.cloud_transformer import CloudTransformer, InvertibleTransformer
from pointforms.preprocessing.saved_arrays import SavedArray
from pointforms.support.options import Count
from pointforms.support.weighted_statistics import weighted_mean


@dataclass(eq=False, repr=False)
class PrincipalComponents(InvertibleTransformer):
    """Project clouds to the principal components of all training points.

    The result has the features PC1, PC2, … and carries `loadings`, which say what each is made of,
    so that :func:`pointforms.explain.component_loadings` leads back to the features.

    Parameters
    ----------
    components : int, default 10
        Number of components, at most the number of features.
    scale : {"standard", "isotropic", "robust"} or None, default None
        Units of the features in which components are computed, as in :class:`Standardize`; None
        takes those of the data.

    Attributes
    ----------
    center_ : ndarray, shape (D,)
        The centre of each feature over the training points.
    unit_ : ndarray, shape (D,)
        What each feature is divided by; ones for scale=None.
    axes_ : ndarray, shape (components, D)
        The principal axes, as orthonormal rows. The largest entry of each is positive.
    explained_variance_ratio_ : ndarray, shape (components,)
        The share of the variance of the training points that each component has.
    loadings_ : Loadings
        The axes with names. If the training clouds were components of other features themselves,
        their loadings are multiplied in.
    n_features_in_ : int
        Number of features of the clouds, D.
    feature_names_in_ : ndarray of str, shape (D,)
        Their names, if the clouds of `fit` had names.

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = pf.Clouds.from_list([[[0.0, 0.0], [3.0, 4.0]]], feature_names=["CD3", "CD4"])
    >>> projected = pf.preprocessing.PrincipalComponents(1).fit_transform(clouds)
    >>> projected.feature_names, projected[0].round(decimals=3).tolist()
    (('PC1',), [[-2.5], [2.5]])
    >>> [(name, round(loading, 3)) for name, loading in projected.loadings.top()["PC1"]]
    [('CD4', 0.8), ('CD3', 0.6)]
    """

    components: Count = 10
    scale: Scale | None = None

    _learned: ClassVar[dict[str, Attribute]] = CloudTransformer._learned | {
        "loading_names_": Attribute(Names)
    }
    _arrays: ClassVar[dict[str, SavedArray]] = {
        "center_": SavedArray(("features",)),
        "unit_": SavedArray(("features",), positive=True),
        "axes_": SavedArray(("components", "features")),
        "explained_variance_ratio_": SavedArray(("components",)),
        "loading_values_": SavedArray(("components", "loaded features")),
    }

    def _learn(self, clouds: Clouds) -> None:
        units = Units.learn(list(clouds), self.scale, self.components)
        assert units.axes is not None  # there are components
        self.center_, self.unit_ = units.center.numpy(), units.unit.numpy()
        self.axes_ = units.axes.numpy()
        mass = None if clouds.weights is None else clouds.weights.double().cpu()
        scaled = (clouds.points.double().cpu() - units.center) / units.unit
        spread = weighted_mean(scaled.square(), mass)
        projected = weighted_mean(self._points(clouds).double().cpu().square(), mass)
        total = float(spread.sum())
        self.explained_variance_ratio_ = projected.numpy() / (total if total > 0 else 1.0)
        self.loading_values_, names = self.axes_, list(clouds.feature_names)
        if clouds.loadings is not None:
            self.loading_values_ = self.axes_ / self.unit_ @ clouds.loadings.values
            names = list(clouds.loadings.feature_names)
        self.loading_names_ = np.array(names, dtype=object)

    @property
    def loadings_(self) -> Loadings:
        """The weight of each feature in each component."""
        names = tuple(str(name) for name in self.loading_names_)
        return Loadings(self.loading_values_, tuple(self._names_out([])), names)

    def _units(self) -> Units:
        center, unit, axes = map(torch.from_numpy, (self.center_, self.unit_, self.axes_))
        return Units(center, unit, axes)

    def _points(self, clouds: Clouds) -> Tensor:
        [points] = self._units().coordinates([clouds.points])
        return points.to(clouds.points.device)

    def _apply(self, clouds: Clouds) -> Clouds:
        names = tuple(self._names_out([]))
        points = self._points(clouds)
        return replace(clouds, points=points, feature_names=names, loadings=self.loadings_)

    def _names_out(self, names: list[str]) -> list[str]:
        return [f"PC{c + 1}" for c in range(self.components)]

    def _points_before(self, points: Tensor) -> Tensor:
        units = self._units()
        assert units.axes is not None
        features = points.double().cpu() @ units.axes * units.unit + units.center
        return features.to(points)

    def _renamed(self, clouds: Clouds) -> Clouds:
        return replace(clouds, feature_names=tuple(self._names_in()), loadings=None)

    def _check_restored(self) -> None:
        if self.axes_.shape[0] != self.components:
            raise ValueError(f"it has {self.axes_.shape[0]} axes for {self.components} components")
        if self.loading_values_.shape[1] != len(self.loading_names_):
            raise ValueError("its loadings and their names differ in number")

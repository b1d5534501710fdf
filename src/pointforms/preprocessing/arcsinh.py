"""Inverse hyperbolic sine: linear near 0, logarithmic far from it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from pointforms.clouds import Clouds
from pointforms.preprocessing.cloud_transformer import InvertibleTransformer
from pointforms.preprocessing.per_feature import per_feature
from pointforms.support.options import Positive


@dataclass(eq=False, repr=False)
class Arcsinh(InvertibleTransformer):
    """Replace each value x by arcsinh(x / cofactor).

    The usual transformation in cytometry: 5 is the usual cofactor for mass cytometry, 150 for flow
    cytometry. Values below the cofactor stay nearly linear, those above become logarithmic, and
    negative values are allowed.

    Parameters
    ----------
    cofactor : float or dict of str to float, default 5.0
        One cofactor for all features, or cofactors by name. Features that a dictionary does not
        name stay as they are.

    Attributes
    ----------
    n_features_in_ : int
        Number of features of the clouds, D.
    feature_names_in_ : ndarray of str, shape (D,)
        Their names, if the clouds of `fit` had names.

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = pf.Clouds.from_list([[[0.0, 5.0], [50.0, 500.0]]], feature_names=["CD3", "CD4"])
    >>> pf.preprocessing.Arcsinh(cofactor=5).fit_transform(clouds)[0].round(decimals=2).tolist()
    [[0.0, 0.88], [3.0, 5.3]]
    """

    cofactor: Positive | dict[str, Positive] = 5.0

    def _learn(self, clouds: Clouds) -> None:
        per_feature("cofactor", self.cofactor, clouds.feature_names, other=0)

    def _cofactors(self, points: Tensor) -> Tensor:
        """Return the cofactor of each feature, 0 for those that stay as they are: (D,)."""
        return per_feature("cofactor", self.cofactor, self._names_in(), other=0).to(points.device)

    def _points(self, clouds: Clouds) -> Tensor:
        x, c = clouds.points, self._cofactors(clouds.points)
        return torch.where(c > 0, torch.arcsinh(x.double() / c.clamp_min(_TINY)), x).to(x.dtype)

    def _points_before(self, points: Tensor) -> Tensor:
        c = self._cofactors(points)
        return torch.where(c > 0, c * torch.sinh(points.double()), points).to(points.dtype)

    def _check_restored(self) -> None:
        self._cofactors(torch.zeros(0))


# Stands for the cofactor where there is none, so that nothing is divided by 0.
_TINY = 1e-300

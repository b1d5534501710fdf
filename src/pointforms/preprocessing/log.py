"""The logarithm of values, with an offset that keeps 0 finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from pointforms.clouds import Clouds
from pointforms.preprocessing.cloud_transformer import InvertibleTransformer, called, position
from pointforms.support.options import Bounds


@dataclass(eq=False, repr=False)
class Log(InvertibleTransformer):
    """Replace each value x by log(x + offset), the natural logarithm.

    Parameters
    ----------
    offset : float, default 1.0
        What is added first. 1 is the usual choice for counts (log1p); 0 takes the plain logarithm.

    Attributes
    ----------
    n_features_in_ : int
        Number of features of the clouds, D.
    feature_names_in_ : ndarray of str, shape (D,)
        Their names, if the clouds of `fit` had names.

    Examples
    --------
    >>> import pointforms as pf
    >>> pf.preprocessing.Log().fit_transform([[[0.0], [9.0]]])[0].round(decimals=2).tolist()
    [[0.0], [2.3]]
    """

    offset: Annotated[float, Bounds(at_least=0)] = 1.0

    def _points(self, clouds: Clouds) -> Tensor:
        x = clouds.points
        refused = (x.double() + self.offset <= 0).nonzero()
        if len(refused):
            row, column = refused[0].tolist()
            cloud, point = position(clouds, row)
            raise ValueError(
                f"{called(clouds, cloud)} has the value {float(x[row, column]):g} at point {point},"
                f" feature {clouds.feature_names[column]!r}: expected values above "
                f"{-self.offset:g} ({len(refused)} are not)"
            )
        if self.offset == 1:
            return torch.log1p(x.double()).to(x.dtype)
        return torch.log(x.double() + self.offset).to(x.dtype)

    def _points_before(self, points: Tensor) -> Tensor:
        if self.offset == 1:
            return torch.expm1(points.double()).to(points.dtype)
        return (torch.exp(points.double()) - self.offset).to(points.dtype)

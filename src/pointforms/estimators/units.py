"""Units of the features: how clouds are scaled before neighbours are searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import torch
from torch import Tensor

from pointforms.support.weighted_statistics import (
    pooled_weights,
    weighted_deviation,
    weighted_mean,
    weighted_quantiles,
)
from pointforms.weights import keep_weights, weights_of

#: Divide each feature by its standard deviation, all by one number, or each by its interquartile
#: range.
Scale = Literal["standard", "isotropic", "robust"]

# The interquartile range of a normal distribution, in standard deviations.
_QUARTILES = 1.3489795003921634
# A feature that varies by fewer rounding errors than this is constant.
_CONSTANT = 8
# Bits of single precision.
_BITS = 24


@dataclass(frozen=True, eq=False)
class Units:
    """What training clouds say about the units of their features.

    The coordinates that neighbours are searched in are z = (x - center) / unit. With `axes`, clouds
    are first projected to principal components, c = axes (x - center) / unit, which then take the
    place of the features everywhere.

    Attributes
    ----------
    center : Tensor, shape (D,)
        The mean of each feature, or its median.
    unit : Tensor, shape (D,)
        What each feature is divided by.
    axes : Tensor, shape (components, D), or None, default None
        Orthonormal rows, which features are projected on.
    in_geometry : bool, default True
        Whether neighbours are searched in these units. If not, only the network reads points in
        them.
    """

    center: Tensor
    unit: Tensor
    axes: Tensor | None = None
    in_geometry: bool = True

    @classmethod
    def learn(
        cls, clouds: Sequence[Tensor], scale: Scale | None, components: int | None = None
    ) -> Self:
        """Return the units of training clouds.

        Parameters
        ----------
        clouds : sequence of Tensor, each of shape (n_i, D)
            The training clouds. A point of weight w counts as w points.
        scale : {"standard", "isotropic", "robust"} or None
            Divide each feature by its standard deviation, all features by one number, the root of
            their mean variance, or each by its interquartile range, which a few extreme values do
            not change. None leaves the features as they are.
        components : int or None, default None
            Project the scaled clouds to this many principal components of the training points.

        Examples
        --------
        >>> import torch
        >>> clouds = [torch.tensor([[0.0, 1000.0], [2.0, 3000.0]])]
        >>> Units.learn(clouds, "standard").scaled(clouds)
        [tensor([[-1., -1.],
                [ 1.,  1.]])]
        """
        points = torch.cat([cloud.double().cpu() for cloud in clouds])
        mass = pooled_weights([weights_of(c) for c in clouds], [len(c) for c in clouds])
        largest = torch.maximum(points.amax(0), -points.amin(0))  # without a copy of all points
        deviation = weighted_deviation(points, mass)
        if not bool(torch.isfinite(deviation).all()):
            raise ValueError(
                f"the clouds have values up to {float(largest.max()):.3g}: their spread overflows"
            )
        rounding = torch.finfo(torch.float64).eps * largest
        varies = deviation > _CONSTANT * rounding
        # clouds far from 0 have the same unit as near 0, to the last digit
        shift = _round_near(weighted_mean(points, mass), torch.where(varies, deviation, 1.0))
        points -= shift
        center, deviation = weighted_mean(points, mass), weighted_deviation(points, mass)
        unit = deviation
        if scale is None:
            unit = torch.ones_like(deviation)
        elif scale == "isotropic":
            unit = deviation.square().mean().sqrt().expand_as(deviation).clone()
            varies = varies.any().expand_as(varies)
        elif scale == "robust":
            low, center, high = (torch.from_numpy(q) for q in _quartiles(points.numpy(), mass))
            spread = (high - low) / _QUARTILES
            unit = torch.where(spread > _CONSTANT * rounding, spread, deviation)
        unit = torch.where(varies, unit, torch.ones_like(unit))
        if components is None:
            return cls(shift + center, unit)
        D = points.shape[1]
        if components > D:
            raise ValueError(f"components={components}: expected at most {D}, the features")
        z = (points - center) / unit
        product = z.mT @ z / len(z) if mass is None else z.mT @ (z * (mass / mass.sum())[:, None])
        _, vectors = torch.linalg.eigh(product)
        axes = vectors.flip(1)[:, :components].mT
        # eigenvectors have no sign of their own: make the largest entry of each positive
        leading = axes.abs().argmax(1, keepdim=True)
        return cls(shift + center, unit, axes * axes.gather(1, leading).sign())

    def coordinates(self, clouds: Sequence[Tensor]) -> list[Tensor]:
        """Return clouds as everything after this sees them: projected, if there are axes."""
        if self.axes is None:
            return list(clouds)
        axes = self.axes.mT
        return [
            keep_weights(((c.double().cpu() - self.center) / self.unit @ axes).to(_kept(c)), c)
            for c in clouds
        ]

    def scaled(self, clouds: Sequence[Tensor]) -> list[Tensor]:
        """Return what :meth:`coordinates` returned in units in which neighbours are searched."""
        if self.axes is not None or not self.in_geometry:
            return list(clouds)
        result = [
            keep_weights(((c.double().cpu() - self.center) / self.unit).to(_kept(c)), c)
            for c in clouds
        ]
        for i, (cloud, own) in enumerate(zip(clouds, result, strict=True)):
            if _is_point(own) and not _is_point(cloud):
                raise ValueError(
                    f"cloud {i} has no extent in units of up to {float(self.unit.max()):.3g}: look "
                    "for clouds and features with extreme values, or use scale='robust'"
                )
        return result

    @property
    def of_store(self) -> tuple[Tensor, Tensor]:
        """Origin and unit of the coordinates that a store of clouds holds.

        The origin is a round number near the centre, which is exact to subtract, and which a
        network in single precision can keep.
        """
        if self.axes is None:
            return _round_near(self.center, self.unit), self.unit
        return torch.zeros(len(self.axes)).double(), torch.ones(len(self.axes)).double()

    @property
    def width(self) -> int:
        """Number of coordinates of :meth:`coordinates`."""
        return len(self.center) if self.axes is None else len(self.axes)


def _round_near(center: Tensor, unit: Tensor) -> Tensor:
    """Return multiples, near each centre, of a power of two that is about a unit.

    They have at most 24 bits, those of single precision.
    """
    one = torch.ones_like(unit)
    step = torch.ldexp(one, torch.frexp(unit).exponent)
    step = torch.maximum(step, torch.ldexp(one, torch.frexp(center).exponent - _BITS))
    return (center / step).round() * step


def _is_point(cloud: Tensor) -> bool:
    """Return whether all points of a cloud are equal."""
    return bool((cloud == cloud[:1]).all())


def _kept(cloud: Tensor) -> torch.dtype:
    """Single precision stays; whole numbers become double."""
    return cloud.dtype if cloud.dtype.is_floating_point else torch.float64


def _quartiles(points: np.ndarray, mass: Tensor | None) -> np.ndarray:
    weights = None if mass is None else mass.numpy()
    return weighted_quantiles(points, (0.25, 0.5, 0.75), weights)

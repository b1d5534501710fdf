"""Units and frame of the clouds of an estimator: learned by `fit`, applied to all later clouds."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from pointforms.clouds import plain_clouds
from pointforms.estimators.batch_centers import batch_centers, without_batches
from pointforms.estimators.per_cloud import one_per_cloud
from pointforms.estimators.units import Scale, Units
from pointforms.geometry.stream import points_of
from pointforms.nn.frames import Frame, inputs_of
from pointforms.support.cloud_estimator import TakesClouds


class ScalesClouds(TakesClouds):
    """A mixin for estimators whose options say in which units, and from where, clouds are read.

    A fitted estimator whose clouds are scaled or framed has the attributes `center_` and `unit_`,
    each of shape (D,), and with `components` also `axes_`; see `Units`.
    """

    scale: Scale | None
    components: int | None
    frame: Frame
    dtype: Literal["float32", "float64"]
    batch_centers_: dict[Any, list[float]]

    def adapt(self, clouds: Any, batch: np.ndarray | None = None) -> None:
        """Learn from training clouds what needs no labels: the units of their features.

        `fit` calls it. Whoever trains networks directly, by `make_store` and `train_networks`,
        calls it first.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The training clouds, or what `prepare` returned for them.
        batch : ndarray, shape (N,), or None, default None
            The batch of each cloud. Differences between batches do not count as spread.
        """
        self._forget("center_", "unit_", "axes_")
        if not self._learns_units():
            return
        if self.components is not None and hasattr(clouds[0], "points"):
            raise ValueError(
                f"components={self.components}: expected clouds rather than what was computed from "
                "them, whose geometry is that of all features"
            )
        scale = self.scale
        if scale is None and self.components is None:
            scale = "standard"  # of what the network reads; the geometry stays as it is
        points = plain_clouds(clouds)
        if batch is not None:
            points = without_batches(points, batch)
        units = Units.learn(points, scale, self.components)
        self.n_features_in_ = len(units.center)
        self.center_, self.unit_ = units.center.numpy(), units.unit.numpy()
        if units.axes is not None:
            self.axes_ = units.axes.tolist()

    def _learns_units(self) -> bool:
        return self.scale is not None or self.components is not None or self.frame != "absolute"

    @property
    def units(self) -> Units | None:
        """The units that `adapt` learned; None if there are none."""
        if not hasattr(self, "center_"):
            return None
        axes = torch.tensor(self.axes_, dtype=torch.float64) if hasattr(self, "axes_") else None
        in_geometry = self.scale is not None and not getattr(self, "given_geometry_", False)
        return Units(
            torch.from_numpy(self.center_), torch.from_numpy(self.unit_), axes, in_geometry
        )

    def _awaits_units(self) -> bool:
        """Return whether geometry depends on units that `adapt` has not learned yet."""
        return self.units is None and (self.scale is not None or self.components is not None)

    def _store_options(self, origin: Tensor | None, centers: Tensor | None) -> dict[str, Any]:
        """Return the arguments of a store that say how points are read."""
        unit, units = None, self.units
        if units is not None:
            origin, unit = (self._rounded(values) for values in units.of_store)
            if not bool(torch.isfinite(origin).all() and torch.isfinite(unit).all() and unit.all()):
                raise ValueError(
                    f"features with deviations of {float(units.unit.min()):.3g} to "
                    f"{float(units.unit.max()):.3g} are beyond the range of {self.dtype}: rescale "
                    "the features, or use dtype='float64'"
                )
        return {"origin": origin, "unit": unit, "frame": self.frame, "centers": centers}

    def _rounded(self, values: Tensor) -> Tensor:
        """Return numbers as a network keeps them, so that it knows exactly what was subtracted."""
        return values.to(getattr(torch, self.dtype)).double()

    def _inputs(self) -> int:
        """Return how many numbers the network reads at a point."""
        return inputs_of(self.frame, self.components or self.n_features_in_)

    def _refuse_batch_frame(self) -> None:
        if self.frame == "batch":
            raise ValueError('frame="batch": expected another frame where batches are not given')

    def _in_units(self, clouds: Any) -> list[Tensor]:
        """Return clouds in the coordinates that everything after their units sees.

        Principal components, where there are any, stay as they are.
        """
        units = self.units
        points = plain_clouds(clouds)
        width = points[0].shape[1]
        if units is None or (units.axes is not None and width == units.width < len(units.center)):
            return points
        self._check_width(width)
        return units.coordinates(points)

    def _checked_batch(self, batch: Any, count: int) -> np.ndarray | None:
        if self.frame == "batch" and batch is None:
            raise ValueError('frame="batch" needs the batch of each cloud: pass batch=...')
        if batch is None:
            return None
        if self.frame != "batch":
            raise ValueError(f'batch is used by frame="batch" only: frame is {self.frame!r}')
        return one_per_cloud("batch", batch, count)

    def _centers(self, prepared: Any, batch: np.ndarray | None) -> Tensor | None:
        if batch is None:
            return None
        return batch_centers(points_of(prepared), batch, self.batch_centers_)

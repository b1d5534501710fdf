"""A store of the points of many clouds, from which padded batches are gathered for a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from pointforms.nn.frames import Frame, framed, inputs_of
from pointforms.nn.origins import common_origin, relative
from pointforms.nn.point_numbers import common_size
from pointforms.support.weighted_statistics import (
    pooled_weights,
    weighted_deviation,
    weighted_mean,
)
from pointforms.weights import keep_weights, weights_of


class PointStore:
    """Clouds of different sizes in one flat tensor: what a network reads at their points.

    Parameters
    ----------
    clouds : sequence of Tensor, each of shape (n_i, D)
        The clouds.
    dtype : torch.dtype
        Precision of the tensors.
    device : torch.device or str
        Where they are kept.
    origin : Tensor or None, shape (D,)
        What is subtracted from the points, before they are rounded to `dtype`. None uses that of
        the clouds, see :func:`pointforms.nn.origins.common_origin`. A network reads points as
        differences from the origin of the store that it was trained with.
    unit : Tensor or None, shape (D,), default None
        What the differences are divided by, in double precision; None leaves them as they are.
    frame : {"absolute", "cloud", "shape", "both", "batch"}, default "absolute"
        From where the network sees the points, see :func:`pointforms.nn.frames.framed`.
    centers : Tensor or None, shape (N, D), default None
        The centre of the batch of each cloud, for frame="batch".
    """

    def __init__(
        self,
        clouds: Sequence[Tensor],
        dtype: torch.dtype,
        device: torch.device | str,
        origin: Tensor | None = None,
        unit: Tensor | None = None,
        frame: Frame = "absolute",
        centers: Tensor | None = None,
    ) -> None:
        # on the CPU, so that gathering a batch never waits for a device
        self._host_sizes = sizes = torch.tensor([len(cloud) for cloud in clouds])
        self._counts: list[int] = sizes.tolist()
        self._size = common_size(self._counts)
        own = [weights_of(cloud) for cloud in clouds]
        # weights of all points, in double precision on the CPU; None if they are equal
        self._mass = pooled_weights(own, self._counts)
        self.features = clouds[0].shape[1]
        if frame != "absolute" and origin is None:
            origin = torch.zeros(self.features)  # what is read are differences anyway
        self.origin = common_origin(clouds) if origin is None else origin.double().cpu()
        self.in_units = unit is not None
        self.unit = torch.ones(self.features).double() if unit is None else unit.double().cpu()
        if centers is not None:
            centers = (centers.double().cpu() - self.origin) / self.unit
        # the last row is zero, and padding refers to it
        self.points = torch.zeros(
            int(sizes.sum()) + 1, inputs_of(frame, self.features), dtype=dtype
        )
        places = self.points[:-1].split(self._counts)
        for place, cloud in zip(places, self._read(clouds, frame, centers, dtype), strict=True):
            place.copy_(cloud)
        self.points = self.points.to(device)
        self.sizes = sizes.to(device)
        self._host_offsets = sizes.cumsum(0) - sizes
        self.offsets = self._host_offsets.to(device)

    def _read(
        self, clouds: Sequence[Tensor], frame: Frame, centers: Tensor | None, dtype: torch.dtype
    ) -> Iterator[Tensor]:
        """Return what is read at the points of each cloud, one cloud after the other."""
        if not self.in_units and frame == "absolute":
            return relative(clouds, self.origin, dtype)
        in_units = (
            keep_weights((cloud.double().cpu() - self.origin) / self.unit, cloud)
            for cloud in clouds
        )
        seen = (
            framed([cloud], frame, None if centers is None else centers[i : i + 1])[0]
            for i, cloud in enumerate(in_units)
        )
        return relative(seen, torch.zeros(()), dtype)

    #: Number of parts in which a batch is gathered.
    parts = 1

    def __len__(self) -> int:
        return len(self.sizes)

    def moments(self, clouds: Sequence[int] | np.ndarray) -> tuple[Tensor, Tensor]:
        """Return the mean and standard deviation of what is read at the points of some clouds.

        A point of weight w counts as w points.

        Parameters
        ----------
        clouds : sequence or ndarray of int
            Indices of the clouds.

        Returns
        -------
        tuple of Tensor
            Mean and standard deviation, each of shape (R,). The deviation of a constant feature
            is given as 1.
        """
        chosen = torch.zeros(len(self), dtype=torch.bool, device=self.sizes.device)
        chosen[torch.as_tensor(np.asarray(clouds), device=self.sizes.device)] = True
        of_points = chosen.repeat_interleave(self.sizes)
        points = self.points[:-1][of_points].double()
        mass = None if self._mass is None else self._mass.to(points)[of_points]
        deviation = weighted_deviation(points, mass)
        deviation = torch.where(deviation > 0, deviation, 1.0)
        return weighted_mean(points, mass).to(self.points), deviation.to(self.points)

    def draw(self, cloud: int, points: int, rng: np.random.Generator) -> np.ndarray:
        """Draw random points of a cloud that has more than that: (points,) rows of it."""
        return rng.permutation(self._counts[cloud])[:points]

    def places(self, index: Tensor, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the rows of the flat tensors for the clouds `index`, and which are not padding.

        Parameters
        ----------
        index : Tensor of int, shape (..., B)
            The clouds. On the CPU, unless one is to wait for the device.
        rows : Tensor of int, shape (..., B, m), or None, default None
            Points of each cloud; None takes all. Points that a smaller cloud lacks are padding.

        Returns
        -------
        tuple of Tensor
            Both of shape (..., B, n), or (..., B, m). Of clouds of one size, the second may be one
            number that is expanded.
        """
        if rows is None:
            largest = self._size or int(self._host_sizes[index.cpu()].max())
            rows = torch.arange(largest, device=self.sizes.device).expand(*index.shape, -1)
            if self._size:
                place = self.offsets[index.to(rows.device)].unsqueeze(-1) + rows
                return place, place.new_ones((), dtype=torch.bool).expand_as(place)
        index = index.to(self.sizes.device)
        sizes = self.sizes[index].unsqueeze(-1)
        real = rows < sizes
        place = torch.where(real, self.offsets[index].unsqueeze(-1) + rows, len(self.points) - 1)
        return place, real

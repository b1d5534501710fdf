"""Frames: from where a network sees the points of a cloud.

The geometry of a cloud does not change when the cloud moves. What the coefficients of learned forms
depend on does: the absolute position of a point, or its position relative to the cloud.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from pointforms.support.weighted_statistics import weighted_mean
from pointforms.weights import relative_weights

#: Absolute positions; positions relative to the mean of the cloud, or of its batch; relative to the
#: mean of the cloud and in units of its spread; absolute and relative positions side by side.
Frame = Literal["absolute", "cloud", "shape", "both", "batch"]


def inputs_of(frame: Frame, features: int) -> int:
    """Return how many numbers a network reads at a point with D features."""
    return 2 * features if frame == "both" else features


def framed(clouds: Sequence[Tensor], frame: Frame, centers: Tensor | None = None) -> list[Tensor]:
    """Return what a network reads at the points of each cloud.

    Parameters
    ----------
    clouds : sequence of Tensor, each of shape (n_i, D)
        The clouds, in units in which the features compare. Means count the weights of points.
    frame : {"absolute", "cloud", "shape", "both", "batch"}
        Absolute positions; differences from the mean of the cloud; these divided by the spread of
        the cloud, its root mean square distance from its mean; absolute positions and differences
        side by side; differences from `centers`.
    centers : Tensor, shape (N, D), or None, default None
        The centre of the batch of each cloud, for frame="batch".

    Returns
    -------
    list of Tensor, each of shape (n_i, D), or (n_i, 2 D) for frame="both"

    Examples
    --------
    >>> import torch
    >>> framed([torch.tensor([[1.0], [3.0]])], "both")
    [tensor([[ 1., -1.],
            [ 3.,  1.]])]
    """
    if frame == "absolute":
        return list(clouds)
    if frame == "batch":
        if centers is None:
            raise ValueError('frame="batch" needs the batch of each cloud: pass batch=...')
        return [cloud - center for cloud, center in zip(clouds, centers, strict=True)]
    masses = [relative_weights(cloud) for cloud in clouds]
    relative = [
        cloud - weighted_mean(cloud, mass) for cloud, mass in zip(clouds, masses, strict=True)
    ]
    if frame == "both":
        return [torch.cat(pair, 1) for pair in zip(clouds, relative, strict=True)]
    if frame == "shape":
        return [cloud / _spread(cloud, mass) for cloud, mass in zip(relative, masses, strict=True)]
    return relative


def _spread(centred: Tensor, mass: Tensor | None) -> Tensor:
    """Return the root mean square distance of points from 0, or 1 if they are all there."""
    spread = weighted_mean(centred.square().sum(1), mass).sqrt()
    return torch.where(spread > 0, spread, torch.ones_like(spread))

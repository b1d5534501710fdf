"""Layers that several baselines use."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from pointforms.nn.network import FeatureNorm
from pointforms.nn.origins import register_origin

# Groups of this size are faster to differentiate at their largest products than at all of them.
_LARGE_GROUP = 64


class Standardized(nn.Module):
    """A network whose input is (x - mean) / scale, with statistics of its training clouds."""

    origin: Tensor
    mean: Tensor
    scale: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        register_origin(self, features)
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))

    def standardize(self, mean: Tensor, scale: Tensor, origin: Tensor) -> None:
        """Set the statistics, and the origin from which points and mean are measured."""
        if origin.shape == self.origin.shape:  # frame="both" reads twice as many numbers
            self.origin.copy_(origin)
        self.mean.copy_(mean)
        self.scale.copy_(scale)

    def standardized(self, points: Tensor) -> Tensor:
        """Return the points in units of the statistics."""
        return (points - self.mean) / self.scale


def mean_pool(h: Tensor, real: Tensor) -> Tensor:
    """Return the mean over the points of each cloud: (B, n, H) -> (B, H)."""
    return (h * real.unsqueeze(-1)).sum(-2) / real.sum(-1, keepdim=True).clamp_min(1)


def max_pool(h: Tensor, real: Tensor) -> Tensor:
    """Return the maximum over the points of each cloud: (B, n, H) -> (B, H)."""
    return h.masked_fill(real.unsqueeze(-1) == 0, -torch.inf).amax(-2)


def _largest_products(h: Tensor, matrix: Tensor, has: Tensor) -> Tensor:
    """Return the maximum over each group of matrix @ h: (..., n, H) and (H', H) to (..., H').

    In a large group few of the products are largest, and only those are differentiated.
    """
    if h.shape[-2] < _LARGE_GROUP or not torch.is_grad_enabled():
        return max_pool(functional.linear(h, matrix), has)
    with torch.no_grad():
        products = functional.linear(h, matrix).masked_fill((has == 0).unsqueeze(-1), -torch.inf)
        largest = products.argmax(-2)
    groups = h.flatten(0, -3)
    first = torch.arange(len(groups), device=h.device).unsqueeze(-1) * h.shape[-2]
    places = (largest.flatten(0, -2) + first).flatten()
    points = groups.flatten(0, 1).index_select(0, places).view(*largest.shape, h.shape[-1])
    return (points * matrix).sum(-1)


class SharedMLP(nn.Module):
    """Linear maps with normalisation and ReLU, the same for every point.

    Features are normalised over the points of all clouds, padding left out. Mean and variance of a
    linear map follow from those of its input, so that map and normalisation are one product.
    """

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(FeatureNorm(width) for width in widths[1:])

    def forward(self, h: Tensor, real: Tensor) -> Tensor:
        """Map (..., H); real (...) is 1 for points and 0 for padding."""
        for i in range(len(self.maps)):
            h = torch.relu(functional.linear(h, *self._normalised(i, h, real)))
        return h

    def pooled(self, h: Tensor, real: Tensor, has: Tensor) -> Tensor:
        """Map, and take the maximum over the points of each group: (..., n, H) -> (..., H').

        Parameters
        ----------
        h : Tensor, shape (..., n, H)
            The points of every group.
        real : Tensor, shape (..., n)
            1 for points that count in the statistics, else 0.
        has : Tensor, shape (..., n)
            Which points a group has; at least one.
        """
        last = len(self.maps) - 1
        for i in range(last):
            h = torch.relu(functional.linear(h, *self._normalised(i, h, real)))
        matrix, offset = self._normalised(last, h, real)
        # adding the offset and ReLU do not change the order
        return torch.relu(_largest_products(h, matrix, has) + offset)

    def _normalised(self, i: int, h: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """Return layer i, with the normalisation after it, as one matrix and its offset."""
        linear, norm = self.maps[i], self.norms[i]
        assert isinstance(linear, nn.Linear)
        assert isinstance(norm, FeatureNorm)
        if self.training:
            w = real.flatten()
            n = w.sum().clamp_min(1)
            w, rows = (w / n).unsqueeze(-1), h.flatten(0, -2)
            mean = (w * rows).sum(0)
            centred = rows - mean
            spread = functional.linear(linear.weight, (w * centred).mT @ centred)
            center = functional.linear(mean, linear.weight, linear.bias)
            variance = (spread * linear.weight).sum(-1).clamp_min(0)
            center, scale = norm.moments(center, variance, n)
        else:
            center, scale = norm.moments()
        factor = scale * norm.gain
        return factor.unsqueeze(-1) * linear.weight, (linear.bias - center) * factor + norm.shift

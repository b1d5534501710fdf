"""Layers that several baselines use."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from pointforms.models.normalised_rows import (
    centred_rows,
    largest_of_groups,
    next_product,
    scaled_relu,
    take_rows,
)
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
    groups = h.flatten(0, -3)
    with torch.no_grad():  # with the points of a group adjacent in memory, maxima are found faster
        products = torch.bmm(matrix.expand(len(groups), -1, -1), groups.mT)
        missing = has.reshape(len(groups), 1, -1) == 0
        hidden = torch.zeros_like(products[:, :1]).masked_fill_(missing, -torch.inf)
        largest = products.add_(hidden).max(-1).indices
    first = torch.arange(len(groups), device=h.device).unsqueeze(-1) * h.shape[-2]
    places = (largest + first).flatten()
    points = groups.flatten(0, 1).index_select(0, places).view(*largest.shape, h.shape[-1])
    found: Tensor = (points * matrix).sum(-1).unflatten(0, h.shape[:-2])
    return found


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

    def of_rows(self, h: Tensor) -> Tensor:
        """Map rows (N, H) that all count, as :meth:`forward` does: faster, not under vmap."""
        return scaled_relu(*self._before_relu(functional.linear(h, self._matrix(0))))

    def largest_around(self, h: Tensor, neighbors: Tensor) -> Tensor:
        """Map rows (N, H) that all count, and take the maximum over some: (m, k) -> (m, H')."""
        return self._largest(functional.linear(h, self._matrix(0)), neighbors, len(neighbors))

    def largest_of_rows(
        self,
        differences: Tensor,
        features: Tensor | None,
        places: Tensor | None,
        slots: Tensor | None,
        groups: int,
    ) -> Tensor:
        """Map rows that all count, and take the maximum over those of each group: (groups, H').

        A row joins what is its own with the features of a place, which several rows have in common:
        the first map is applied to these before rows take them.

        Parameters
        ----------
        differences : Tensor, shape (N, D)
            What is a row's own.
        features : Tensor, shape (P, H), or None
            The features of all places, if there are any.
        places : Tensor of int, shape (N,), or None
            The place of each row; None if it is the row itself.
        slots : Tensor of int, shape (groups, k), or None
            The rows of each group, where groups that are smaller repeat one. None if each has k
            rows, one group after the other.
        groups : int
            Number of groups.
        """
        matrix, D = self._matrix(0), differences.shape[1]
        z = functional.linear(differences, matrix[:, :D])
        if features is not None:
            common = functional.linear(features, matrix[:, D:])
            z = z + (common if places is None else common.index_select(0, places))
        return self._largest(z, slots, groups)

    def _largest(self, z: Tensor, slots: Tensor | None, groups: int) -> Tensor:
        """Return the maximum over groups of rows z (N, H), which the first matrix has mapped."""
        z, factor, offset = self._before_relu(z)
        if bool((factor < 0).any()):
            z, factor = z * factor.sign(), factor.abs()
        grouped = z.view(groups, -1, z.shape[1]) if slots is None else take_rows(z, slots)
        # adding the offset and ReLU do not change the order
        return torch.relu(largest_of_groups(grouped) * factor + offset)

    def _before_relu(self, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return z', factor and offset such that factor z' + offset is what the last ReLU gets.

        Here z (N, H) are rows that the first matrix has mapped.
        """
        if not self.training:
            factor, offset = self._scale_of(0)
            for i in range(1, len(self.maps)):
                z = functional.linear(scaled_relu(z, factor, offset), self._matrix(i))
                factor, offset = self._scale_of(i)
            return z, factor, offset
        z, shift, variance = centred_rows(z)
        factor, offset = self._scale_of(0, torch.zeros_like(shift), variance, shift, len(z))
        for i in range(1, len(self.maps)):
            z, mean, variance, shift = next_product(z, factor, offset, self._matrix(i))
            factor, offset = self._scale_of(i, mean, variance, shift, len(z))
        return z, factor, offset

    def _matrix(self, i: int) -> Tensor:
        linear = self.maps[i]
        assert isinstance(linear, nn.Linear)
        return linear.weight

    def _scale_of(
        self,
        i: int,
        mean: Tensor | None = None,
        variance: Tensor | None = None,
        shift: Tensor | float = 0.0,
        n: int = 0,
    ) -> tuple[Tensor, Tensor]:
        """Return factor and offset that add the bias of layer i and normalise it.

        In training these follow from the moments of n rows, from which the shift was subtracted.
        """
        linear, norm = self.maps[i], self.norms[i]
        assert isinstance(linear, nn.Linear)
        assert isinstance(norm, FeatureNorm)
        level = linear.bias + shift
        if mean is None or variance is None:
            center, scale = norm.moments()
        else:
            center, scale = norm.moments(mean + level, variance, n)
        factor = scale * norm.gain
        return factor, (level - center) * factor + norm.shift

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

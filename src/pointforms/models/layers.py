"""Layers that several baselines use."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from pointforms.nn.network import FeatureNorm
from pointforms.nn.origins import register_origin


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


class SharedMLP(nn.Module):
    """Linear maps with normalisation and ReLU, the same for every point.

    Features are normalised over the points of all clouds, padding left out.
    """

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(FeatureNorm(width) for width in widths[1:])

    def forward(self, h: Tensor, real: Tensor) -> Tensor:
        """Map (..., H); real (...) is 1 for points and 0 for padding."""
        for linear, norm in zip(self.maps, self.norms, strict=True):
            h = linear(h)
            normalised = norm(h.flatten(0, -2), real.flatten())
            h = torch.relu(normalised.view(h.shape))
        return h

"""Coefficient networks in which the coefficient of dx^I reads only the features in I."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import torch
from torch import Tensor, nn

from pointforms.exterior import multi_indices

# Fewest units per basis form in a hidden layer: two layers of 8 can bend a curve several times.
_FEWEST_UNITS = 8


class GroupedAffine(nn.Module):
    """One small linear map per group, all applied at once.

    Parameters
    ----------
    groups : int
        Number of maps, g.
    inputs, outputs : int
        Width of each.
    """

    def __init__(self, groups: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.shape = (groups, outputs)
        bound = inputs**-0.5  # as nn.Linear begins
        self.weight = nn.Parameter(torch.empty(groups, outputs, inputs).uniform_(-bound, bound))
        # flat, since only matrices decay
        self.bias = nn.Parameter(torch.empty(groups * outputs).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """Map (g, inputs, P) to (g, outputs, P); points are the last axis."""
        return torch.baddbmm(self.bias.view(*self.shape, 1), self.weight, x)


class OwnCoefficients(nn.Module):
    """Networks F_I, one per basis form dx^I, each of which reads the features in I alone.

    ∂F_I / ∂x_j = 0 for every j outside of I. What other features do to the contribution of dx^I,
    they do through the geometry, the Gram factor.

    The networks train side by side, as one batched product per layer. They share out the units of
    the hidden layers, with at least 8 for each.

    Parameters
    ----------
    features : int
        Number of features of a point, D.
    degree : int
        Number of features that a coefficient reads, k ≥ 1; 1 for the 1-forms of wedge forms.
    count : int
        Number of coefficients per basis form: the forms, or the 1-forms of wedge forms.
    hidden : sequence of int
        Widths of the hidden layers, of all networks together.
    inputs : int or None, default None
        How many numbers are read at a point, a multiple of D: feature j is read at j, D + j, ….
        None stands for D.
    """

    unit: Tensor

    def __init__(
        self,
        features: int,
        degree: int,
        count: int,
        hidden: Sequence[int],
        inputs: int | None = None,
    ) -> None:
        super().__init__()
        self.features, self.degree, self.count = features, degree, count
        self.copies = (inputs or features) // features
        groups = comb(features, degree)
        widths = [max(_FEWEST_UNITS, -(-width // groups)) for width in hidden]
        layers: list[nn.Module] = []
        read = degree * self.copies
        for width in widths:
            layers += [GroupedAffine(groups, read, width), nn.SiLU()]
            read = width
        self.trunk = nn.Sequential(*layers)
        self.last = GroupedAffine(groups, read, count)
        self.register_buffer("unit", torch.ones(groups))

    def set_scale(self, scale: Tensor) -> None:
        """Interpret the coefficients as those of forms in coordinates divided by `scale` (D,)."""
        indices = multi_indices(self.features, self.degree).to(scale.device)
        self.unit.copy_(scale[indices].prod(-1).reciprocal())

    def forward(self, x: Tensor) -> Tensor:
        """Return the coefficients at points: (..., R) -> (..., count, C(D, k))."""
        own = multi_indices(self.features, self.degree).to(x.device)  # (C, k)
        read = torch.cat([own + copy * self.features for copy in range(self.copies)], 1)
        columns = x.reshape(-1, x.shape[-1]).mT[read]  # (C, k copies, P)
        values: Tensor = self.last(self.trunk(columns)) * self.unit[:, None, None]
        F: Tensor = values.permute(2, 1, 0).unflatten(0, x.shape[:-1])
        return F

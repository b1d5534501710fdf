"""Networks F_θ whose outputs are the coefficients of learned k-forms."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import torch
from torch import Tensor, nn

from pointforms.exterior import multi_indices

# Most coefficients that a network returns at a point: with 64 hidden units, 4 GB of weights.
_MOST_COEFFICIENTS = 1 << 24


class Affine(nn.Linear):
    """A linear map that adds its bias in place; torch would copy the outputs of stacked maps.

    The gradient of a contiguous matrix is computed as (inputs, outputs), which is several times as
    fast as (outputs, inputs) for few inputs.
    """

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.weight.mT.contiguous()).add_(self.bias)


class Pick(nn.Module):
    """Some of the numbers that a network is given: (..., R) -> (..., len(places))."""

    def __init__(self, places: Sequence[int]) -> None:
        super().__init__()
        self.places = list(places)

    def forward(self, x: Tensor) -> Tensor:
        return x[..., self.places]


def hidden_layers(
    features: int, widths: Sequence[int], places: Sequence[int] | None = None
) -> tuple[nn.Sequential, int]:
    """Return linear maps, each followed by SiLU, and the width of the last.

    They read all numbers, or those at some places.
    """
    layers: list[nn.Module] = []
    if places is not None:
        layers, features = [Pick(places)], len(places)
    for width in widths:
        layers += [Affine(features, width), nn.SiLU()]
        features = width
    return nn.Sequential(*layers), features


def check_count(features: int, degree: int, forms: int) -> None:
    """Raise an error if forms of a degree have more coefficients than can be learned."""
    count = forms * comb(features, degree)
    if count > _MOST_COEFFICIENTS:
        raise ValueError(
            f"degree={degree} on {features} features: {forms} forms have {count:.2g} "
            f"coefficients per point, and at most {_MOST_COEFFICIENTS:.2g} can be learned; "
            'use coefficients="wedge" or a lower degree'
        )


class _Coefficients(nn.Module):
    """A network that returns `count` vectors of coefficients at a point, in units of each."""

    unit: Tensor

    def __init__(
        self,
        inputs: int,
        hidden: Sequence[int],
        count: int,
        width: int,
        places: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.count = count
        self.trunk, last = hidden_layers(inputs, hidden, places)
        self.last = nn.Linear(last, count * width)
        self.register_buffer("unit", torch.ones(width))

    def last_map(self) -> tuple[Tensor, Tensor]:
        """Return weight and bias of the last map, in the units of the given coordinates."""
        # the scale goes into the weights, which are fewer than the outputs
        unit = self.unit.expand(self.count, -1).flatten()
        return self.last.weight * unit.unsqueeze(-1), self.last.bias * unit

    def forward(self, x: Tensor) -> Tensor:
        """Return the coefficients at standardised points: (..., D) -> (..., count, width)."""
        out: Tensor = nn.functional.linear(self.trunk(x), *self.last_map())
        split: Tensor = out.unflatten(-1, (self.count, -1))
        return split


class DenseCoefficients(_Coefficients):
    """A network F_θ: R^D -> R^{l × C(D,k)} with one output per form and basis form dx^I.

    Parameters
    ----------
    features : int
        Number of features of a point, D.
    degree : int
        Degree of the forms, k.
    forms : int
        Number of forms, l.
    hidden : sequence of int
        Widths of the hidden layers.
    inputs : int or None, default None
        How many numbers the network reads at a point; None stands for D.
    places : sequence of int or None, default None
        Those of the numbers at a point that the network reads; None reads all.
    """

    def __init__(
        self,
        features: int,
        degree: int,
        forms: int,
        hidden: Sequence[int],
        inputs: int | None = None,
        places: Sequence[int] | None = None,
    ) -> None:
        count = comb(features, degree)
        check_count(features, degree, forms)
        super().__init__(inputs or features, hidden, forms, count, places)
        self.degree = degree

    def set_scale(self, scale: Tensor) -> None:
        """Interpret the coefficients as those of forms in coordinates divided by `scale` (D,)."""
        # dx^I in standardised coordinates is dx^I / Π_{i in I} s_i in the given ones
        indices = multi_indices(len(scale), self.degree).to(scale.device)
        self.unit.copy_(scale[indices].prod(-1).reciprocal())


class WedgeCoefficients(_Coefficients):
    """A network that returns k-forms as sums of R products of 1-forms, α_1 ∧ ... ∧ α_k.

    A form has R k D coefficients instead of C(D, k). The network maps points (..., D) to 1-forms
    (..., l R k, D).

    Parameters
    ----------
    features : int
        Number of features of a point, D.
    degree : int
        Degree of the forms, k ≥ 1.
    forms : int
        Number of forms, l.
    hidden : sequence of int
        Widths of the hidden layers.
    terms : int, default 2
        Number of products per form, R.
    inputs : int or None, default None
        How many numbers the network reads at a point; None stands for D.
    places : sequence of int or None, default None
        Those of the numbers at a point that the network reads; None reads all.
    """

    def __init__(
        self,
        features: int,
        degree: int,
        forms: int,
        hidden: Sequence[int],
        terms: int = 2,
        inputs: int | None = None,
        places: Sequence[int] | None = None,
    ) -> None:
        super().__init__(inputs or features, hidden, forms * terms * degree, features, places)

    def set_scale(self, scale: Tensor) -> None:
        """Interpret the 1-forms as those of coordinates divided by `scale` (D,)."""
        self.unit.copy_(scale.reciprocal())

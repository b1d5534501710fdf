"""The point-form layer: learned forms of one degree, compared on a batch of clouds."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from pointforms.exterior import COMPOUND_MAX, compound, pull
from pointforms.nn.batch import FormBatch
from pointforms.nn.coefficients import DenseCoefficients, WedgeCoefficients
from pointforms.nn.comparison import (
    compare,
    compare_by_metric,
    compare_pulled,
    compare_wedges,
)

CoefficientKind = Literal["dense", "wedge"]

# Coefficients held at once where forms are too wide to keep for the backward pass.
_WORKING_SET = 1 << 22


class PointForms(nn.Module):
    """l learned k-forms and their comparison matrices.

    C_ab = Σ_p μ(p) ⟨ω_a, ω_b⟩(p) for each cloud: symmetric PSD, the same for every order of the
    points, and unchanged when clouds and forms move rigidly together.

    Parameters
    ----------
    features : int
        D.
    degree : int
        k ≥ 0.
    forms : int
        l.
    coefficients : "dense" or "wedge"
        One coefficient for each basis form, or sums of `terms` decomposable forms.
    hidden : widths of the hidden layers
    terms : int
        Decomposable forms in each wedge form.
    """

    def __init__(
        self,
        features: int,
        degree: int = 1,
        forms: int = 8,
        coefficients: CoefficientKind = "dense",
        hidden: Sequence[int] = (64, 64),
        terms: int = 2,
    ) -> None:
        super().__init__()
        self.degree, self.forms = degree, forms
        self.network: DenseCoefficients | WedgeCoefficients
        if coefficients == "wedge" and degree >= 2:
            self.network = WedgeCoefficients(features, degree, forms, hidden, terms)
        else:  # below degree 2 every form is decomposable
            self.network = DenseCoefficients(features, degree, forms, hidden)

    def set_scale(self, scale: Tensor) -> None:
        """The forms are those of coordinates divided by scale (D,); the factor stays as given."""
        self.network.set_scale(scale)

    def forward(self, batch: FormBatch, x: Tensor) -> Tensor:
        """Comparison matrices (B, l, l), from the batch and its standardised points x (B, n, D)."""
        if isinstance(self.network, WedgeCoefficients):
            one_forms = self.network(x)
            return compare_wedges(one_forms, batch.factor, batch.weights, self.forms, self.degree)
        geometry = self._prepared(batch)
        if geometry is None:
            return self._compare_in_blocks(batch, x)
        last = (self.network.trunk(x), *self.network.last_map())
        if self.degree in batch.metrics:
            return compare_by_metric(*last, geometry)
        return compare(*last, geometry, batch.weights)

    def _prepared(self, batch: FormBatch) -> Tensor | None:
        """Λᵏ V or the weighted metric, unless that is too large."""
        if self.degree == 0:
            return torch.ones_like(batch.weights)[..., None, None]
        if self.degree in batch.metrics:
            return batch.metrics[self.degree]
        if self.degree == 1:
            return batch.factor
        if self.degree in batch.compounds:
            return batch.compounds[self.degree]
        D, r = batch.factor.shape[-2:]
        if comb(D, self.degree) * comb(r, self.degree) <= COMPOUND_MAX:
            return compound(batch.factor, self.degree)
        return None

    def _compare_in_blocks(self, batch: FormBatch, x: Tensor) -> Tensor:
        """Slot by slot, a block of points at a time, computed again in the backward pass."""
        B, n, D = x.shape
        V = batch.factor.flatten(0, 1)
        size = max(1, _WORKING_SET // (self.forms * comb(D, self.degree - 1) * D))

        def pulled(points: Tensor, factor: Tensor) -> Tensor:
            return pull(self.network(points), factor, self.degree, "slots")

        blocks = [
            checkpoint(pulled, p, v, use_reentrant=False)
            for p, v in zip(x.flatten(0, 1).split(size), V.split(size), strict=True)
        ]
        return compare_pulled(torch.cat(blocks).unflatten(0, (B, n)), batch.weights)

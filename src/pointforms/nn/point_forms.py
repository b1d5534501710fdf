"""PointForms: a layer of learned forms of one degree, compared on a batch of clouds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import comb
from typing import Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.checkpoint import checkpoint

from pointforms.exterior import COMPOUND_MAX, check_degree, compound, pull
from pointforms.nn.batches import FormBatch, FormParts, split_points
from pointforms.nn.coefficients import DenseCoefficients, WedgeCoefficients, check_count
from pointforms.nn.comparison import (
    compare,
    compare_by_metric,
    compare_by_pairs,
    compare_by_slots,
    compare_coefficients,
    compare_coefficients_by_pairs,
    compare_pulled,
    compare_wedges,
)
from pointforms.nn.full_precision import in_full_precision
from pointforms.nn.own_coefficients import OwnCoefficients
from pointforms.support.options import shown

CoefficientKind = Literal["dense", "wedge"]
#: The features that a coefficient reads: all, those of its own basis form, or some by their places.
Sees = Literal["all", "own"] | Sequence[int]

# Coefficients held at once if there are too many to keep for the backward pass.
_WORKING_SET = 1 << 22


class PointForms(nn.Module):
    """A layer of learned k-forms that returns their comparison matrix on every cloud.

    The matrix C_ab = Σ_p μ(p) ⟨ω_a, ω_b⟩(p)

    - is symmetric and positive semidefinite;
    - does not depend on the order of the points;
    - does not change when clouds and forms move rigidly together.

    Parameters
    ----------
    features : int
        Number of features of the clouds, D.
    degree : int, default 1
        Degree of the forms, 0 ≤ k ≤ D.
    forms : int, default 8
        Number of forms, l.
    coefficients : {"dense", "wedge"}, default "dense"
        One coefficient per basis form, or sums of `terms` products of 1-forms.
    hidden : sequence of int, default (64, 64)
        Widths of the hidden layers of the coefficient network.
    terms : int, default 2
        Number of products per wedge form.
    inputs : int or None, default None
        How many numbers the coefficient network reads at a point, a multiple of D; None stands for
        D.
    sees : {"all", "own"} or sequence of int, default "all"
        The features that the coefficient of dx^I reads: all, those in I alone, or those at some
        places. Forms of degree 0, which have no features of their own, read all with "own".

    Examples
    --------
    >>> import numpy as np, torch
    >>> import pointforms as pf
    >>> rng = np.random.default_rng(0)
    >>> fields = pf.gram_fields([rng.normal(size=(30, 3)) for _ in range(4)], dimension=2)
    >>> batch = pf.nn.FieldStore(fields).gather(torch.arange(4))
    >>> layer = pf.nn.PointForms(features=3, degree=2, forms=5)
    >>> layer(batch, batch.points).shape
    torch.Size([4, 5, 5])
    """

    def __init__(
        self,
        features: int,
        degree: int = 1,
        forms: int = 8,
        coefficients: CoefficientKind = "dense",
        hidden: Sequence[int] = (64, 64),
        terms: int = 2,
        inputs: int | None = None,
        sees: Sees = "all",
    ) -> None:
        super().__init__()
        check_degree(degree, features)
        self.degree, self.forms, self.terms = degree, forms, terms
        self.wedge = coefficients == "wedge" and degree >= 2  # below, every form is a product
        if not self.wedge:
            check_count(features, degree, forms)
        self.network: DenseCoefficients | WedgeCoefficients | OwnCoefficients
        _check_sees(sees, features)
        if isinstance(sees, str) and sees == "own" and degree >= 1:
            slots, count = (1, forms * terms * degree) if self.wedge else (degree, forms)
            self.network = OwnCoefficients(features, slots, count, hidden, inputs)
            return
        places = None
        if not isinstance(sees, str):
            copies = (inputs or features) // features
            places = [copy * features + place for copy in range(copies) for place in sees]
        if self.wedge:
            self.network = WedgeCoefficients(features, degree, forms, hidden, terms, inputs, places)
        else:
            self.network = DenseCoefficients(features, degree, forms, hidden, inputs, places)

    def set_scale(self, scale: Tensor) -> None:
        """Interpret the forms in coordinates divided by a scale; the factor stays as given.

        Parameters
        ----------
        scale : Tensor, shape (D,)
            One number per feature.
        """
        self.network.set_scale(scale)

    def forward(self, batch: FormBatch | FormParts, x: Tensor) -> Tensor:
        """Compute the comparison matrices of a batch.

        Parameters
        ----------
        batch : FormBatch or FormParts
            The clouds with their geometry.
        x : Tensor, shape (B, n, R) or (P, R)
            What the coefficient network reads: the points, perhaps standardised. Those of a batch
            in parts are one after the other.

        Returns
        -------
        Tensor, shape (B, l, l)
            One matrix per cloud.
        """
        if isinstance(self.network, DenseCoefficients):
            return self._compare_dense(batch.parts, self.network.trunk(x.flatten(0, -2)))
        points = split_points(x.flatten(0, -2), [part.weights.shape for part in batch.parts])
        return torch.cat([self._compare(*one) for one in zip(batch.parts, points, strict=True)])

    def _compare_dense(self, parts: Sequence[FormBatch], hidden: Tensor) -> Tensor:
        """Compare forms by what the last map of their network reads at all points, (P, H)."""
        assert isinstance(self.network, DenseCoefficients)
        last = self.network.last_map()
        if self.degree == 1 and parts[0].pairs:
            return compare_by_pairs(hidden, *last, *chain.from_iterable(p.pairs for p in parts))
        geometry = [G for part in parts if (G := self._prepared(part)) is not None]
        if not geometry:
            points = split_points(hidden, [part.weights.shape for part in parts])
            matrices = [
                compare_by_slots(h, *last, part.factor, part.weights, self.degree)
                for h, part in zip(points, parts, strict=True)
            ]
            return torch.cat(matrices)
        if self.degree in parts[0].metrics or self.degree == 0:
            return compare_by_metric(hidden, *last, *geometry)
        pairs = zip(geometry, (part.weights for part in parts), strict=True)
        return compare(hidden, *last, *chain.from_iterable(pairs))

    def _compare(self, batch: FormBatch, x: Tensor) -> Tensor:
        """Compare forms whose coefficients are products, or read their own features only."""
        if self.wedge:
            one_forms = self.network(x)
            return compare_wedges(one_forms, batch.factor, batch.weights, self.forms, self.degree)
        if self.degree == 1 and batch.pairs:
            return compare_coefficients_by_pairs(self.network(x), *batch.pairs)
        geometry = self._prepared(batch)
        if geometry is None:
            return self._compare_in_blocks(batch, x)
        weights = None if self.degree in batch.metrics else batch.weights
        return compare_coefficients(self.network(x), geometry, weights)

    def _prepared(self, batch: FormBatch) -> Tensor | None:
        """Return ΛᵏV or the weighted metric (μ for k = 0), or None if it costs less without."""
        if self.degree == 0:
            return batch.weights[..., None, None]
        if self.degree in batch.metrics:
            return batch.metrics[self.degree]
        if self.degree == 1:
            return batch.factor
        if self.degree in batch.compounds:
            return batch.compounds[self.degree]
        D, r = batch.factor.shape[-2:]
        entries = comb(D, self.degree) * comb(r, self.degree)
        if isinstance(self.network, OwnCoefficients) and entries <= COMPOUND_MAX:
            return compound(batch.factor, self.degree)
        return None

    def _compare_in_blocks(self, batch: FormBatch, x: Tensor) -> Tensor:
        """Compare slot by slot, in blocks of points that the backward pass computes again."""
        B, n, _ = x.shape
        V, D = batch.factor.flatten(0, 1), batch.factor.shape[-2]
        size = max(1, _WORKING_SET // (self.forms * comb(D, self.degree - 1) * D))

        # the backward pass may run when torch.func.functional_call, which lends the network the
        # parameters of a fit, is over: so blocks keep those of this call
        state = dict(self.network.named_parameters()) | dict(self.network.named_buffers())

        def pulled(points: Tensor, factor: Tensor) -> Tensor:
            coefficients = functional_call(self.network, state, (points,))
            return in_full_precision(pull)(coefficients, factor, self.degree, "slots")

        blocks = [
            checkpoint(pulled, p, v, use_reentrant=False)
            for p, v in zip(x.flatten(0, 1).split(size), V.split(size), strict=True)
        ]
        return compare_pulled(torch.cat(blocks).unflatten(0, (B, n)), batch.weights)


def _check_sees(sees: Sees, features: int) -> None:
    """Raise an error unless coefficients can read what they are to see."""
    if isinstance(sees, str):
        if sees not in ("all", "own"):
            raise ValueError(f"sees={sees!r}: expected 'all', 'own', or places of features")
    elif not len(sees) or not all(0 <= place < features for place in sees):
        raise ValueError(f"sees={shown(sees)}: expected places below {features}")

"""Padded batches of clouds with their geometry, which networks read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class FormBatch(NamedTuple):
    """A batch of B clouds with their Gram factors, padded to n points each.

    A tuple, so that torch.func can map over stacked batches.

    Attributes
    ----------
    points : Tensor, shape (..., B, n, R)
        What the network reads at the points, as their store has it: R = D numbers, or 2 D for
        frame="both".
    factor : Tensor, shape (..., B, n, D, r)
        Gram factors V, with G = V Vᵀ.
    weights : Tensor, shape (..., B, n)
        The measure μ; zero on padding.
    compounds : dict of int to Tensor, default empty
        Compound factors ΛᵏV of shape (..., B, n, C(D, k), C(r, k)), by degree k, where they were
        computed beforehand.
    metrics : dict of int to Tensor, default empty
        Weighted k-th Gram matrices μ ΛᵏV ΛᵏVᵀ of shape (..., B, n, C(D, k), C(D, k)), by degree,
        where these are cheaper.
    covariates : tuple of Tensor, default empty
        Nothing, or one tensor (..., B, c) of numbers that belong to whole clouds.
    pairs : tuple of Tensor, default empty
        Nothing, or a short form of the factor, which is NaN then: positions (..., B, N, D) of all
        points of the clouds, and the scales times sqrt(μ) and centre weights (..., B, n, N) of
        :mod:`pointforms.geometry.pairs`.

    Examples
    --------
    >>> import torch
    >>> from pointforms import nn
    >>> points, factor = torch.rand(4, 10, 3), torch.rand(4, 10, 3, 2)
    >>> batch = nn.FormBatch(points, factor, weights=torch.full((4, 10), 0.1))
    >>> nn.PointForms(features=3, forms=5)(batch, batch.points).shape
    torch.Size([4, 5, 5])
    """

    points: Tensor
    factor: Tensor
    weights: Tensor
    compounds: dict[int, Tensor] = {}  # noqa: RUF012  (nothing writes to it)
    metrics: dict[int, Tensor] = {}  # noqa: RUF012
    covariates: tuple[Tensor, ...] = ()
    pairs: tuple[Tensor, ...] = ()

    @property
    def parts(self) -> tuple[FormBatch, ...]:
        """The batch, as its only part."""
        return (self,)

    @property
    def rows(self) -> Tensor:
        """The points of all clouds, one after the other: (..., B n, R)."""
        return self.points.flatten(-3, -2)


class FormParts(NamedTuple):
    """A batch in parts, each with clouds of similar size, so that little of it is padding.

    Attributes
    ----------
    parts : tuple of FormBatch
        The clouds of the batch, one part after the other.
    rows : Tensor, shape (..., P, R)
        The `points` of all parts, one after the other.
    """

    parts: tuple[FormBatch, ...]
    rows: Tensor

    @property
    def covariates(self) -> tuple[Tensor, ...]:
        """Covariates of all clouds, as in a batch."""
        return tuple(
            torch.cat(values, -2)
            for values in zip(*(part.covariates for part in self.parts), strict=True)
        )


def split_points(rows: Tensor, shapes: Sequence[Sequence[int]], dim: int = -2) -> list[Tensor]:
    """Return the points of all parts along `dim` as those of each part, of the shapes (B, n)."""
    parts = rows.split([B * n for B, n in shapes], dim)
    return [part.unflatten(dim, (B, n)) for part, (B, n) in zip(parts, shapes, strict=True)]


def numbered_points(shapes: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """Return the cloud of each point of all parts, of the shapes (B, n), and its place there.

    >>> [numbers.tolist() for numbers in numbered_points([(2, 1), (1, 3)])]
    [[0, 1, 2, 2, 2], [0, 0, 0, 1, 2]]
    """
    counts, sizes = np.array(shapes).T
    widths = np.repeat(sizes, counts)
    cloud = np.repeat(np.arange(len(widths)), widths)
    row = np.arange(len(cloud)) - (np.cumsum(widths) - widths)[cloud]
    return torch.from_numpy(cloud), torch.from_numpy(row)


def pad(rows: Tensor, batch: Tensor) -> Tensor:
    """Pad rows (N, ...), whose clouds are numbered by `batch` (N,), ascending, to (B, n, ...)."""
    count = int(batch.max()) + 1
    sizes = torch.bincount(batch, minlength=count)
    offsets = sizes.cumsum(0) - sizes
    place = torch.arange(len(batch), device=batch.device) - offsets[batch]
    padded = rows.new_zeros(count, int(sizes.max()), *rows.shape[1:])
    padded[batch, place] = rows
    return padded

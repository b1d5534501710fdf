"""Pairs of points, the short form of Gram factors, of many clouds, for batches to gather."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from pointforms.geometry.field import GramField
from pointforms.geometry.pairs import centre_weights
from pointforms.nn.batches import split_points
from pointforms.nn.point_numbers import Tables

# Products with positions are up to twice as fast if the number of these is a multiple of it.
_MULTIPLE = 8
# Largest ratio of a cloud to a neighbourhood of it, since the difference of two positions has as
# many times the rounding error of a factor.
_LARGEST_RATIO = 10.0
# How well pairs must describe a factor, in units of its precision.
_TOLERANCE = 1e4


class StoredPairs:
    """Positions of the points of each cloud; of their pairs, scales and weights in the centre.

    Positions are relative to the mean of their cloud, and divided by its size, by which the scales
    are multiplied: numbers of order one. The scales are multiplied by sqrt(μ) too.

    Parameters
    ----------
    tables : Tables
        Makes the table of pairs, for all clouds.
    features : int
        D.
    """

    def __init__(self, tables: Tables, features: int) -> None:
        self._ends = torch.tensor([0, *tables.sizes]).cumsum(0).tolist()
        self._pairs = tables.empty(2, rounded(max(tables.sizes)))
        # the last row is zero, and padding refers to it
        self._positions = torch.zeros(self._ends[-1] + 1, features, dtype=tables.dtype)
        self._device = tables.device
        generator = torch.Generator().manual_seed(0)
        self._covector = torch.randn(features, 1, dtype=torch.float64, generator=generator)

    @property
    def numbers(self) -> int:
        """How many numbers a batch holds per point."""
        return self._positions.shape[-1] + 2 * self._pairs.shape[-1]

    def write(
        self, cloud: int, field: GramField, unit: Tensor, measure: Tensor, given: bool
    ) -> bool:
        """Keep the pairs of a cloud, with features in some units (D,) and the measure μ (n,).

        Nothing is kept, and the result is False, if they would be less accurate than the factor of
        the field; or do not describe it, which is tried if the field was given by a caller.
        """
        n = len(field)
        if field.pairs is None or field.pairs.shape != (n, n):
            return False
        points, scales = field.points.double().cpu(), field.pairs.double().cpu()
        positions, weights = (points - points.mean(0)) / unit, centre_weights(scales)
        if not _accurate(positions, scales, weights):
            return False
        if given and not self._describe(field, positions, scales, weights, unit):
            return False
        size = positions.abs().max().clamp_min(torch.finfo(positions.dtype).tiny)
        pairs = torch.zeros(n, 2, rounded(n), dtype=self._positions.dtype)
        roots = measure.double().cpu().sqrt().unsqueeze(1)
        pairs[:, 0, :n], pairs[:, 1, :n] = scales * (size * roots), weights
        if not pairs.isfinite().all():
            return False
        self._positions[self._ends[cloud] : self._ends[cloud + 1]] = positions / size
        self._pairs.write(cloud, pairs)
        return True

    def _describe(
        self, field: GramField, positions: Tensor, scales: Tensor, weights: Tensor, unit: Tensor
    ) -> bool:
        """Return whether pairs have the factor of a field.

        It is tried for each feature and for a random covector ω, by the energies |Vᵀω|² at all
        points: somebody may have replaced the factor of a field, or its points.
        """
        V, values = field.factor, torch.cat([positions, positions @ self._covector], 1)
        of_features = torch.linalg.vector_norm(V, dim=-1).double().cpu() / unit
        of_covector = (self._covector.T / unit).to(V) @ V
        of_covector = torch.linalg.vector_norm(of_covector, dim=-1).double().cpu()
        of_factor = torch.cat([of_features, of_covector], 1).square_()
        squares, centres = scales.square(), weights @ values
        bounds = squares @ values.square()
        of_pairs = bounds - squares.sum(1, keepdim=True) * centres.square()
        tolerance = _TOLERANCE * torch.finfo(V.dtype).eps
        return bool(((of_pairs - of_factor).abs() <= tolerance * bounds).all())

    def finish(self) -> None:
        """Get ready to be read; nothing is written afterwards."""
        self._positions = self._positions.to(self._device)
        self._pairs.finish()

    def gather(
        self,
        index: Tensor,
        rows: Tensor | None,
        place: Tensor,
        others: Tensor,
        raised: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return positions (..., B, N, D) of a batch, and scales and centre weights (..., B, n, N).

        The scales have sqrt(μ) in them. N is a little more than the largest cloud has.

        Parameters
        ----------
        index, rows, place : Tensor
            Those of :meth:`PointNumbers.gather`.
        others : Tensor of int, shape (..., B, N)
            As `place`, but of all points of the clouds.
        raised : Tensor or None, shape (..., B, n), default None
            By what the measure μ is multiplied, so that some points stand for all; None is by 1.
        """
        width = rounded(others.shape[-1])
        others = pad(others, (0, width - others.shape[-1]), value=len(self._positions) - 1)
        scales, centre = self._pairs.gather(index, rows, place, width).unbind(-2)
        if raised is not None:
            scales = scales * raised.sqrt().unsqueeze(-1)
        return self._positions[others], scales, centre

    def gather_parts(
        self, index: Tensor, shapes: Sequence[tuple[int, int]], place: Tensor, others: Tensor
    ) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Return what :meth:`gather` does for all points of each part of a batch.

        Parameters
        ----------
        index, shapes, place
            Those of :meth:`PointNumbers.gather_parts`.
        others : Tensor of int, shape (..., Q)
            As `place`, for parts with sizes of clouds that are :func:`rounded`.
        """
        wide = [(B, rounded(n)) for B, n in shapes]
        positions = self._positions.index_select(0, others.flatten()).view(*others.shape, -1)
        pairs = self._pairs.gather_parts(index, shapes, place, [width for _, width in wide])
        return [
            (own, tables[..., 0, :], tables[..., 1, :])
            for own, tables in zip(split_points(positions, wide), pairs, strict=True)
        ]


def _accurate(positions: Tensor, scales: Tensor, weights: Tensor) -> bool:
    """Return whether pairs have about as many digits as the factor, by the trace of G."""
    squares = scales.square()
    total = squares @ positions.square().sum(1)
    of_centres = squares.sum(1) * (weights @ positions).square().sum(1)
    return bool((total <= _LARGEST_RATIO**2 * (total - of_centres)).all())


def rounded(size: int) -> int:
    """Return a size of clouds for which products with positions are fast, at least the given."""
    return -(-size // _MULTIPLE) * _MULTIPLE

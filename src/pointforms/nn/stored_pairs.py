"""Pairs of points, the short form of Gram factors, of many clouds, for batches to gather."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from pointforms.geometry.field import GramField
from pointforms.geometry.pairs import centre_weights, factor_of_pairs
from pointforms.nn.point_numbers import PointNumbers, Tables

# Products with positions are up to twice as fast if the number of these is a multiple of it.
_MULTIPLE = 8


class StoredPairs:
    """Positions of the points of each cloud; of their pairs, scales and weights in the centre.

    Positions are relative to the mean of their cloud, and divided by its size, by which the scales
    are multiplied: numbers of order one.

    Parameters
    ----------
    tables : Tables
        Makes the table of pairs, for all clouds.
    features : int
        D.
    """

    def __init__(self, tables: Tables, features: int) -> None:
        self._ends = torch.tensor([0, *tables.sizes]).cumsum(0).tolist()
        self._pairs = tables.empty(2, _rounded(max(tables.sizes)))
        # the last row is zero, and padding refers to it
        self._positions = torch.zeros(self._ends[-1] + 1, features, dtype=tables.dtype)
        self._device = tables.device
        self._written: list[int] = []

    @property
    def numbers(self) -> int:
        """How many numbers a batch holds per point."""
        return self._positions.shape[-1] + 2 * self._pairs.shape[-1]

    def write(self, cloud: int, field: GramField, unit: Tensor) -> Tensor:
        """Keep the pairs of a cloud, with features in some units (D,), and return what is kept."""
        assert field.pairs is not None
        points, scales = field.points.double().cpu(), field.pairs.double().cpu()
        positions = (points - points.mean(0)) / unit
        size = positions.abs().max().clamp_min(torch.finfo(positions.dtype).tiny)
        n, dtype = len(points), self._positions.dtype
        pairs = torch.zeros(n, 2, _rounded(n), dtype=dtype)
        pairs[:, 0, :n], pairs[:, 1, :n] = scales * size, centre_weights(scales)
        self._positions[self._ends[cloud] : self._ends[cloud + 1]] = (positions / size).to(dtype)
        self._pairs.write(cloud, pairs)
        self._written.append(cloud)
        return pairs

    def finish(self) -> None:
        """Get ready to be read; nothing is written afterwards."""
        self._positions = self._positions.to(self._device)
        self._pairs.finish()

    def factors(self, table: PointNumbers) -> PointNumbers:
        """Write the factors of all clouds that were written so far to a table, and return it."""
        for cloud in self._written:
            positions = self._positions[self._ends[cloud] : self._ends[cloud + 1]]
            scales = self._pairs.read(cloud, cloud + 1)[:, 0, : len(positions)]
            table.write(cloud, factor_of_pairs(positions, scales.cpu()))
        return table

    def gather(
        self, index: Tensor, rows: Tensor | None, place: Tensor, whole: Tensor, weights: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return positions (..., B, N, D) of a batch, and scales and centre weights (..., B, n, N).

        The scales are multiplied by sqrt(μ). N is a little more than the largest cloud has.

        Parameters
        ----------
        index, rows, place : Tensor
            Those of :meth:`PointNumbers.gather`.
        whole : Tensor of int, shape (..., B, N)
            As `place`, but of all points of the clouds.
        weights : Tensor, shape (..., B, n)
            The measure μ.
        """
        width = _rounded(whole.shape[-1])
        whole = pad(whole, (0, width - whole.shape[-1]), value=len(self._positions) - 1)
        scales, centre = self._pairs.gather(index, rows, place, width).unbind(-2)
        return self._positions[whole], scales * weights.sqrt().unsqueeze(-1), centre


def _rounded(size: int) -> int:
    return -(-size // _MULTIPLE) * _MULTIPLE

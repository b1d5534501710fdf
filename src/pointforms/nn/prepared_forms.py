"""Geometry of k-forms that is computed once, before training: compound factors or Gram matrices."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

from torch import Tensor

from pointforms.exterior import compound
from pointforms.nn.point_numbers import PointNumbers, Tables

# Most numbers in the compound factors of all clouds together: 1 GB in single precision.
_MAX_PREPARED = 1 << 28
# Most numbers per point that are read faster than they are done without; a factor is read twice.
_WORTHWHILE = 1 << 12
# Numbers that are computed at a time.
_BLOCK = 1 << 22


def compound_fits(features: int, rank: int, degree: int, points: int) -> bool:
    """Return whether to prepare compound factors: they save time, and those of all points fit."""
    height, width = comb(features, degree), comb(rank, degree)
    numbers = height * min(height, 2 * width)
    return numbers <= _WORTHWHILE and height * width * points <= _MAX_PREPARED


def prepared_compounds(factor: PointNumbers, degree: int, tables: Tables) -> PointNumbers:
    """Return the compound factors ΛᵏV of all points: tables (C(D, k), C(r, k))."""
    features, rank = factor.shape
    prepared = tables.empty(comb(features, degree), comb(rank, degree))
    for clouds, V in _blocks(factor, degree, tables):
        _write(prepared, clouds, compound(V, degree), tables)
    prepared.finish()
    return prepared


def prepared_metrics(
    factor: PointNumbers, weights: Tensor, degree: int, tables: Tables
) -> PointNumbers:
    """Return the weighted Gram matrices μ ΛᵏV ΛᵏVᵀ of all points: tables (C(D, k), C(D, k)).

    The weights μ of all points are in one tensor (points,), cloud after cloud.
    """
    rows = comb(factor.shape[0], degree)
    prepared = tables.empty(rows, rows)
    start = 0
    for clouds, V in _blocks(factor, degree, tables):
        L = compound(V, degree)
        mu = weights[start : start + len(L), None, None]
        _write(prepared, clouds, (L @ L.mT).mul_(mu), tables)
        start += len(L)
    prepared.finish()
    return prepared


def _blocks(factor: PointNumbers, degree: int, tables: Tables) -> Iterator[tuple[range, Tensor]]:
    """Yield consecutive clouds, and the factors of all their points."""
    rows, width = comb(factor.shape[0], degree), comb(factor.shape[1], degree)
    most = _BLOCK // max(1, rows * max(rows, width))  # there are no forms of degrees above D
    first, points = 0, 0
    for i, size in enumerate(tables.sizes):
        if i > first and points + size > most:
            yield range(first, i), factor.read(first, i)
            first, points = i, 0
        points += size
    yield range(first, len(tables.sizes)), factor.read(first, len(tables.sizes))


def _write(numbers: PointNumbers, clouds: range, values: Tensor, tables: Tables) -> None:
    sizes = [tables.sizes[i] for i in clouds]
    for cloud, own in zip(clouds, values.split(sizes), strict=True):
        numbers.write(cloud, own)

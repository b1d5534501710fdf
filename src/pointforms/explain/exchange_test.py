"""Test whether models do better on clouds than on perturbed versions of them.

Two reference distributions are computed, and the larger p-value counts:

- Sign flips of the differences between a group's perturbed and original loss. They treat groups as
  a sample of a population: a model that gains from a feature in some patients, and loses as much in
  others, does not rely on it.
- Exchanges of the original with a perturbed version. If a feature is independent of the labels and
  of the other features, both have the same distribution. Sign flips alone would be wrong by far
  with few groups: the mean loss of several versions minus a single one is not symmetric, since
  losses are skewed, and a donor that hurts several clouds makes them depend on each other.

Signs are those of whole groups. Values are exchanged within cells, that is, among clouds with the
same models: if one group has several cells, exchanges do not see that its clouds depend on each
other, and the sign flips have to.

The largest studentised statistic over all columns gives family-wise p-values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

# Number of random draws, of which the observed one is the first.
DRAWS = 9999
# Up to this many sign flips are all enumerated.
_ENUMERATED = 1 << 12
# Models that were fitted on each other's test clouds depend on each other, and p-values are
# multiplied by 1 + 12 / groups. The 12 was chosen on simulations of linear models fitted to noise:
# the share of false findings at a level of 0.05 was 0.03 to 0.10 from eight groups on, but up to
# 0.13 with five folds and 12 to 20 groups.
_SHARED_TRAINING = 12
# Number of statistics, draws times columns, that are in memory at a time.
_CHUNK = 1 << 20
# Differences below this share of a loss are rounding errors.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Versions:
    """Losses of groups of clouds, original and perturbed, for one column of the table.

    A group whose clouds are predicted by several models has a cell for each of them, with its own
    versions.

    Attributes
    ----------
    losses : ndarray, shape (V, G)
        Sum of the losses of each group, or of each cell; version 0 is the original. NaN where a
        group has fewer versions.
    blocks : sequence of ndarray of int, or None, default None
        Groups that exchange what they have: version v of the i-th group of a block of size k has it
        from group (i + v) mod k of the block. None if versions of a group are its own.
    units : ndarray of int, shape (G,), or None, default None
        The group of each cell, from 0 on. None if every group has one cell.
    """

    losses: np.ndarray
    blocks: Sequence[np.ndarray] | None = None
    units: np.ndarray | None = None

    def differences(self) -> np.ndarray:
        """Return mean perturbed loss minus original loss of each group; 0 without versions."""
        return np.bincount(self.units_or_columns(), self.increases())

    def increases(self) -> np.ndarray:
        """Return mean perturbed loss minus original loss of each cell (G,); 0 without versions."""
        perturbed = self.losses[1:]
        count = np.isfinite(perturbed).sum(0)
        mean = np.nansum(perturbed, 0) / np.maximum(count, 1)
        found = np.where(count > 0, mean - self.losses[0], 0.0)
        small = np.abs(found) <= _ROUNDING * (1 + np.abs(self.losses[0]))
        return np.where(small, 0.0, found)

    def perturbed(self) -> np.ndarray:
        """Return which cells have at least one perturbed version: (G,) of bool."""
        return np.asarray(np.isfinite(self.losses[1:]).any(0))

    def perturbed_groups(self) -> int:
        """Return the number of groups that have a cell with a perturbed version."""
        return len(np.unique(self.units_or_columns()[self.perturbed()]))

    def units_or_columns(self) -> np.ndarray:
        """Return the group of each cell: (G,)."""
        return np.arange(self.losses.shape[1]) if self.units is None else self.units

    def shares(self) -> np.ndarray:
        """Return how many of the groups that values may come from are others: (G,).

        (k - 1) / k in a block of k groups; 1 where versions of a group are its own.
        """
        result = np.ones(self.losses.shape[1])
        for own in self.blocks or ():
            result[own] = (len(own) - 1) / len(own)
        return result

    def advantages(self) -> np.ndarray:
        """Return how far each version is better than the mean of all versions: (V, G)."""
        known = np.isfinite(self.losses)
        mean = np.nansum(self.losses, 0) / known.sum(0)
        found = np.where(known, mean - self.losses, 0.0)
        small = np.abs(found) <= _ROUNDING * (1 + np.abs(mean))
        return np.where(small, 0.0, found)


def p_values(columns: Sequence[Versions], cross_fitted: bool, seed: int) -> np.ndarray:
    """Return the family-wise, one-sided p-value of every column.

    Parameters
    ----------
    columns : sequence of Versions
        The columns, all of the same groups.
    cross_fitted : bool
        Whether the models were trained on each other's clouds.
    seed : int
        Seed of the draws.

    Returns
    -------
    ndarray, shape (columns,)
        1 for a column whose losses do not change.
    """
    rng = np.random.default_rng(seed)
    differences = np.stack([column.differences() for column in columns], 1)
    groups = len(differences)
    unit = np.sqrt((differences**2).sum(0))
    flipped = _flipped(differences / np.where(unit > 0, unit, 1.0), rng)
    exchanged = _exchanged(columns, rng)
    p = np.maximum(flipped.p_values(), exchanged.p_values())
    p = np.where(unit > 0, np.minimum(p * correction(groups, cross_fitted), 1.0), 1.0)
    # where there are few exchanges, random draws of them can come out a little rarer than they are
    return np.asarray(np.maximum(p, [smallest_p(column, cross_fitted) for column in columns]))


def smallest_p(column: Versions, cross_fitted: bool) -> float:
    """Return the smallest p-value that the number of groups allows in a column.

    A group without perturbed versions has a difference of 0, whatever the model does: it adds no
    sign flip.
    """
    groups = len(column.differences())
    perturbed = column.perturbed_groups()
    flips: float = 2.0 ** -min(perturbed, 60)
    if 2.0**groups > _ENUMERATED:
        flips = max(flips, 1 / DRAWS)
    states: float  # logarithm of the number of exchanges
    if column.blocks is None:
        states = float(np.log(np.isfinite(column.losses).sum(0)).sum())
    else:
        states = sum(float(np.log(np.arange(1, len(own) + 1)).sum()) for own in column.blocks)
    exchanges = max(float(np.exp(-min(states, 100.0))), 1 / DRAWS)
    return min(1.0, max(flips, exchanges) * correction(groups, cross_fitted))


def correction(groups: int, cross_fitted: bool) -> float:
    """Return what p-values are multiplied by, because models share training clouds."""
    return 1 + _SHARED_TRAINING / groups if cross_fitted else 1.0


def _signs(groups: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of signs (B, G), the observed ones first."""
    if 2**groups <= _ENUMERATED:
        return np.array(list(product((1.0, -1.0), repeat=groups)))
    signs = rng.choice((1.0, -1.0), size=(DRAWS, groups))
    signs[0] = 1.0
    return signs


class _Statistics:
    """The largest statistic of every draw, and those of all columns in the first, observed one."""

    def __init__(self, draws: int, columns: int) -> None:
        self.largest = np.full(draws, -np.inf)
        self.observed = np.zeros(columns)

    def add(self, places: Sequence[int], start: int, values: np.ndarray) -> None:
        """Add statistics (b, c) of some columns in the draws from `start` on."""
        own = self.largest[start : start + len(values)]
        np.maximum(own, values.max(1), out=own)
        if start == 0:
            self.observed[places] = values[0]

    def p_values(self) -> np.ndarray:
        """Return how often the largest statistic of a draw is as large as each observed one."""
        below = np.searchsorted(np.sort(self.largest), self.observed - 1e-9)
        return np.asarray((len(self.largest) - below) / len(self.largest))


def _chunks(draws: int, columns: int) -> list[slice]:
    """Divide the draws, so that the statistics of all columns in a chunk need little memory."""
    size = max(1, _CHUNK // columns)
    return [slice(start, start + size) for start in range(0, draws, size)]


def _flipped(differences: np.ndarray, rng: np.random.Generator) -> _Statistics:
    """Return studentised statistics under sign flips of the differences (G, columns)."""
    signs = _signs(len(differences), rng)
    columns = differences.shape[1]
    result = _Statistics(len(signs), columns)
    for chunk in _chunks(len(signs), columns):
        result.add(range(columns), chunk.start, signs[chunk] @ differences)
    return result


def _exchanged(columns: Sequence[Versions], rng: np.random.Generator) -> _Statistics:
    """Return studentised statistics under exchanges.

    Columns with the same versions share their draws.
    """
    result = _Statistics(DRAWS, len(columns))
    for places, blocks in _same_versions(columns):
        advantages = np.stack([columns[c].advantages() for c in places], 2)  # (V, G, c)
        unit = np.sqrt((advantages**2).sum((0, 1)))
        advantages /= np.where(unit > 0, unit, 1.0)
        counts = np.isfinite(columns[places[0]].losses).sum(0)
        drawn = _drawn_versions(counts, blocks, rng)
        for chunk in _chunks(DRAWS, len(places)):
            values = sum(
                (drawn[chunk] == version).astype(np.float64) @ own
                for version, own in enumerate(advantages)
            )
            result.add(places, chunk.start, np.asarray(values))
    return result


def _same_versions(
    columns: Sequence[Versions],
) -> list[tuple[list[int], Sequence[np.ndarray] | None]]:
    """Return positions of columns that have the same blocks and numbers of versions."""
    found: dict[tuple[int, bytes], list[int]] = {}
    for c, column in enumerate(columns):
        counts = np.isfinite(column.losses).sum(0)
        found.setdefault((id(column.blocks), counts.tobytes()), []).append(c)
    return [(places, columns[places[0]].blocks) for places in found.values()]


def _drawn_versions(
    counts: np.ndarray, blocks: Sequence[np.ndarray] | None, rng: np.random.Generator
) -> np.ndarray:
    """Return which version takes the place of the original: (B, G); the first row is 0."""
    drawn = np.zeros((DRAWS, len(counts)), dtype=np.int64)
    if blocks is None:
        drawn[:] = rng.integers(0, counts, size=drawn.shape)
    else:
        for own in blocks:
            k = len(own)
            taken = np.argsort(rng.random((DRAWS, k)), 1)
            drawn[:, own] = (taken - np.arange(k)) % k
    drawn[0] = 0
    return drawn

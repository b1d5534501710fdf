"""Losses of clouds and of perturbed versions of them, by models that have not seen them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np
import torch

from pointforms.explain.cloud_targets import CloudTargets
from pointforms.explain.exchange_test import Versions
from pointforms.explain.mean_increase import mean_increase
from pointforms.explain.perturbation import shuffled, with_quantiles_of
from pointforms.explain.unseen import Unseen
from pointforms.support.blame import warn_caller
from pointforms.weights import relative_weights, with_weights

# Number of perturbed clouds per row of the table, about: with fewer clouds, each of them has
# several versions; with more than `_MOST_CLOUDS`, some groups are drawn.
_PERTURBED = 400
_MOST_CLOUDS = 600
_MOST_REPEATS = 20
# A fold with at most this many groups exchanges distributions between all of them.
_SMALL_FOLD = 8


class MeasuredRow(NamedTuple):
    """A measured row of the table.

    Attributes
    ----------
    features : tuple of int
        The features that were perturbed.
    other : int or None
        The second feature of a pair.
    kind : {"distribution", "covariation"}
        How they were perturbed.
    versions : Versions
        Losses by version and group.
    importance : float
        Mean increase of the loss per cloud; NaN without perturbed versions.
    half : float
        Half the width of its 95 % interval.
    score : float
        Drop of the score; NaN without perturbed versions.
    """

    features: tuple[int, ...]
    other: int | None
    kind: str
    versions: Versions
    importance: float
    half: float
    score: float


class PerturbedLosses:
    """Original and perturbed losses of clouds by models that have not seen them."""

    def __init__(
        self,
        points: Sequence[Any],
        targets: CloudTargets,
        models: Unseen,
        groups: np.ndarray,
        repeats: int | None,
        seed: int,
    ) -> None:
        self._rng = rng = np.random.default_rng([seed, 1])
        explained = np.flatnonzero(models.parts >= 0)
        index = explained if repeats is not None else _some_groups(explained, groups, rng)
        if not len(index):
            raise ValueError("every model has seen every cloud: expected clouds it has not seen")
        self.index = index
        self.points = [np.asarray(cloud) for cloud in points]
        self.weights = [_relative(cloud) for cloud in points]
        self.targets, self.models = targets, models
        names, self.group = np.unique(groups[index], return_inverse=True)
        self.groups = len(names)
        # a group with clouds in several parts has a cell in each: values come from the same part
        pairs = np.stack([self.group, models.parts[index]], 1)
        cells, cell = np.unique(pairs, axis=0, return_inverse=True)
        self._cell, self._group_of_cell = cell.reshape(-1), cells[:, 0]
        if self.groups < len(cells):
            warn_caller(
                "clouds of one group are in several folds: models have seen the group of the cloud "
                "they predict, and p-values are too small. Give the same groups to fit"
            )
        usual = int(np.clip(round(_PERTURBED / len(index)), 1, _MOST_REPEATS))
        self.repeats = usual if repeats is None else repeats
        self.blocks = _blocks(cells[:, 1], self.repeats, rng)
        self.predicted = models.predict([points[i] for i in index], index)
        self.losses = targets.losses(self.predicted, index)
        self.score = targets.score(self.predicted, index)

    @property
    def donors(self) -> tuple[int, int]:
        """The fewest and the most groups that a group takes values from, of those with any."""
        others = [len(own) - 1 for own in self.blocks if len(own) > 1]
        return (min(others), max(others)) if others else (0, 0)

    @property
    def alone(self) -> int:
        """Number of groups that have no other group to take values from."""
        cells = [own for own in self.blocks if len(own) > 1]
        return (
            self.groups - len(np.unique(self._group_of_cell[np.concatenate(cells)]))
            if cells
            else self.groups
        )

    def distribution(self, features: tuple[int, ...]) -> MeasuredRow:
        """Replace the values of features by those of clouds of another group."""
        donors = self._donors()

        def version(v: int) -> tuple[np.ndarray, list[np.ndarray]]:
            rows = np.flatnonzero(donors[v] >= 0)
            return rows, [
                with_quantiles_of(
                    self.points[of],
                    self.points[donor],
                    features,
                    self._rng,
                    self.weights[of],
                    self.weights[donor],
                )
                for of, donor in zip(self.index[rows], self.index[donors[v, rows]], strict=True)
            ]

        return self._row(features, None, "distribution", version, len(donors), self.blocks)

    def covariation(self, features: tuple[int, ...]) -> MeasuredRow:
        """Shuffle the values of features inside each cloud."""

        def version(v: int) -> tuple[np.ndarray, list[np.ndarray]]:
            return np.arange(len(self.index)), [
                shuffled(
                    self.points[i],
                    features,
                    self._rng.permutation(len(self.points[i])),
                    self.weights[i],
                )
                for i in self.index
            ]

        return self._row(features, None, "covariation", version, self.repeats)

    def pair(self, one: int, other: int) -> MeasuredRow:
        """Shuffle two features by one permutation, or by two."""
        everything = np.arange(len(self.index))
        orders = [self._rng.permutation(len(self.points[i])) for i in self.index]
        together = [
            shuffled(self.points[i], (one, other), order, self.weights[i])
            for i, order in zip(self.index, orders, strict=True)
        ]
        # the second feature alone is shuffled further: every version has the same first feature
        predicted = self._predict(together, self.index)

        def version(v: int) -> tuple[np.ndarray, list[np.ndarray]]:
            return everything, [
                shuffled(cloud, (other,), self._rng.permutation(len(cloud)), self.weights[i])
                for cloud, i in zip(together, self.index, strict=True)
            ]

        return self._row((one,), other, "covariation", version, self.repeats, None, predicted)

    def _row(
        self,
        features: tuple[int, ...],
        other: int | None,
        kind: str,
        version: Callable[[int], tuple[np.ndarray, list[np.ndarray]]],
        count: int,
        blocks: Sequence[np.ndarray] | None = None,
        original: np.ndarray | None = None,
    ) -> MeasuredRow:
        """Predict all versions at once, and return their losses."""
        made = [version(v) for v in range(count)]
        rows = np.concatenate([own for own, _ in made])
        altered = [cloud for _, some in made for cloud in some]
        base, base_losses = self.predicted, self.losses
        if original is not None:
            base, base_losses = original, self.targets.losses(original, self.index)
        # versions of a group are its own, or those of its cells
        column, units = self.group, None
        if blocks is not None:
            column, units = self._cell, self._group_of_cell
        losses = np.full((count + 1, column.max() + 1), np.nan)
        losses[0] = np.bincount(column, base_losses)
        whole = np.full((count, *base.shape), np.nan)  # predictions by version and cloud
        if len(rows):
            predicted = self._predict(altered, self.index[rows])
            ends = np.cumsum([len(own) for own, _ in made])
            for v, values in enumerate(np.split(predicted, ends[:-1])):
                own, _ = made[v]
                whole[v, own] = values
                version_losses = self.targets.losses(values, self.index[own])
                losses[v + 1] = _sums(version_losses, column[own], losses.shape[1])
        versions = Versions(losses, blocks, units)
        mean, half = mean_increase(versions, np.bincount(column))
        drop = self._score_drop(base, whole, versions.shares()[column])
        return MeasuredRow(features, other, kind, versions, mean, half, drop)

    def _predict(self, versions: Sequence[np.ndarray], of: np.ndarray) -> np.ndarray:
        """Predict versions of clouds, whose points keep the weights that they have there."""
        weighted = [
            cloud
            if self.weights[i] is None
            else with_weights(torch.from_numpy(cloud), torch.from_numpy(self.weights[i]))
            for cloud, i in zip(versions, of, strict=True)
        ]
        return self.models.predict(weighted, of)

    def _score_drop(self, base: np.ndarray, whole: np.ndarray, shares: np.ndarray) -> float:
        """Return the mean drop of the score over versions, of the clouds that have versions.

        A cloud with fewer versions than others has them several times. As in `mean_increase`,
        values may come from the cloud itself, which does not change the score.

        Parameters
        ----------
        base : ndarray, shape (n, ...)
            Predictions for the original clouds.
        whole : ndarray, shape (versions, n, ...)
            Predictions for perturbed versions; NaN where a cloud has no such version, after those
            that it has.
        shares : ndarray, shape (n,)
            How many of the groups that values may come from are others.
        """
        counts = np.isfinite(whole.reshape(*whole.shape[:2], -1)).all(2).sum(0)
        rows = np.flatnonzero(counts)
        if not len(rows):
            return nan
        of = self.index[rows]
        score = self.targets.score(base[rows], of)
        drops = [
            score - self.targets.score(whole[v % counts[rows], rows], of) for v in range(len(whole))
        ]
        return float(np.mean(drops) * shares[rows].mean())

    def _donors(self) -> np.ndarray:
        """Return the clouds that values are taken from: (versions, clouds); -1 for none.

        In version v, a group, or a cell of it, has them from the v-th group after it in its block.
        """
        members = [np.flatnonzero(self._cell == c) for c in range(len(self._group_of_cell))]
        most = max(len(own) for own in self.blocks)
        donors = np.full((max(most - 1, 1), len(self.index)), -1)
        for own in self.blocks:
            for i, g in enumerate(own):
                for v in range(1, len(own)):
                    source = self._rng.permutation(members[own[(i + v) % len(own)]])
                    donors[v - 1, members[g]] = np.resize(source, len(members[g]))
        return donors


def _relative(cloud: Any) -> np.ndarray | None:
    """Return the weights of the points of a cloud; None if they are equal."""
    weights = relative_weights(cloud)
    return None if weights is None else weights.cpu().numpy()


def _sums(values: np.ndarray, columns: np.ndarray, count: int) -> np.ndarray:
    """Return the sum of values of clouds in each column (count,); NaN for one without any."""
    sums = np.bincount(columns, values, count)
    return np.where(np.bincount(columns, minlength=count) > 0, sums, np.nan)


def _some_groups(explained: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the clouds of randomly drawn groups, about as many as are perturbed; or all."""
    if len(explained) <= _MOST_CLOUDS:
        return explained
    names, sizes = np.unique(groups[explained], return_counts=True)
    order = rng.permutation(len(names))
    enough = int(np.searchsorted(np.cumsum(sizes[order]), _PERTURBED)) + 1
    return explained[np.isin(groups[explained], names[order[:enough]])]


def _blocks(parts: np.ndarray, repeats: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Divide the groups of each part into blocks, in which they exchange distributions."""
    blocks: list[np.ndarray] = []
    for part in np.unique(parts):
        own = rng.permutation(np.flatnonzero(parts == part))
        small = len(own) <= max(_SMALL_FOLD, repeats + 1)
        blocks += np.array_split(own, 1 if small else len(own) // (repeats + 1))
    return blocks

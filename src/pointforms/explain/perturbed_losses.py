"""Losses of clouds and of perturbed versions of them, by models that have not seen them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pointforms.explain.cloud_targets import CloudTargets
from pointforms.explain.exchange_test import Versions
from pointforms.explain.perturbation import shuffled, with_quantiles_of
from pointforms.explain.unseen import Unseen
from pointforms.support.blame import warn_caller

# Number of perturbed clouds per row of the table, about: with more clouds than this, some groups
# are drawn; with fewer, every cloud has several versions.
_PERTURBED = 400
_MOST_REPEATS = 20
# A fold with at most this many groups exchanges distributions between all of them.
_SMALL_FOLD = 8


class MeasuredRow(NamedTuple):
    """A measured row: features, second feature of a pair, kind, losses by version, score drop."""

    features: tuple[int, ...]
    other: int | None
    kind: str
    versions: Versions
    importance: float
    score: float


class PerturbedLosses:
    """Original and perturbed losses of clouds by models that have not seen them."""

    def __init__(
        self,
        points: Sequence[np.ndarray],
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
        self.points, self.targets, self.models = points, targets, models
        # a group with clouds in several parts counts once per part
        pairs = np.stack([groups[index], models.parts[index]], 1)
        cells, self.group = np.unique(pairs, axis=0, return_inverse=True)
        self.group = self.group.reshape(-1)
        self.groups = len(cells)
        if len(np.unique(cells[:, 0])) < len(cells):
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

    def distribution(self, features: tuple[int, ...]) -> MeasuredRow:
        """Replace the values of features by those of clouds of another group."""
        donors = self._donors()

        def version(v: int) -> tuple[np.ndarray, list[np.ndarray]]:
            rows = np.flatnonzero(donors[v] >= 0)
            return rows, [
                with_quantiles_of(
                    self.points[self.index[i]],
                    self.points[self.index[donors[v, i]]],
                    features,
                    self._rng,
                )
                for i in rows
            ]

        return self._row(features, None, "distribution", version, len(donors), self.blocks)

    def covariation(self, features: tuple[int, ...]) -> MeasuredRow:
        """Shuffle the values of features inside each cloud."""

        def version(v: int) -> tuple[np.ndarray, list[np.ndarray]]:
            return np.arange(len(self.index)), [
                shuffled(self.points[i], features, self._rng.permutation(len(self.points[i])))
                for i in self.index
            ]

        return self._row(features, None, "covariation", version, self.repeats)

    def pair(self, one: int, other: int) -> MeasuredRow:
        """Shuffle two features by one permutation, or by two."""
        everything = np.arange(len(self.index))
        orders = [self._rng.permutation(len(self.points[i])) for i in self.index]
        together = [
            shuffled(self.points[i], (one, other), order)
            for i, order in zip(self.index, orders, strict=True)
        ]
        # the second feature alone is shuffled further: every version has the same first feature
        predicted = self.models.predict(together, self.index)

        def version(v: int) -> tuple[np.ndarray, list[np.ndarray]]:
            return everything, [
                shuffled(cloud, (other,), self._rng.permutation(len(cloud))) for cloud in together
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
        base, score, base_losses = self.predicted, self.score, self.losses
        if original is not None:
            base, score = original, self.targets.score(original, self.index)
            base_losses = self.targets.losses(base, self.index)
        losses = np.full((count + 1, self.groups), np.nan)
        losses[0] = self._sums(base_losses, np.arange(len(self.index)))
        drops = []
        if len(rows):
            predicted = self.models.predict(altered, self.index[rows])
            ends = np.cumsum([len(own) for own, _ in made])
            for v, (own, values) in enumerate(
                zip((own for own, _ in made), np.split(predicted, ends[:-1]), strict=True)
            ):
                if len(own):
                    version_losses = self.targets.losses(values, self.index[own])
                    losses[v + 1] = self._sums(version_losses, own)
                    whole = base.copy()
                    whole[own] = values
                    drops.append(score - self.targets.score(whole, self.index))
        versions = Versions(losses, blocks)
        mean = float(versions.differences().sum() / len(self.index))
        drop = float(np.mean(drops)) if drops else 0.0
        return MeasuredRow(features, other, kind, versions, mean, drop)

    def _sums(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the sum of values of clouds over each group; NaN for a group without any."""
        group = self.group[rows]
        sums = np.bincount(group, values, self.groups)
        return np.where(np.bincount(group, minlength=self.groups) > 0, sums, np.nan)

    def _donors(self) -> np.ndarray:
        """Return the clouds that values are taken from: (versions, clouds); -1 for none.

        In version v, a group has them from the v-th group after it in its block.
        """
        members = [np.flatnonzero(self.group == g) for g in range(self.groups)]
        most = max(len(own) for own in self.blocks)
        donors = np.full((max(most - 1, 1), len(self.index)), -1)
        for own in self.blocks:
            for i, g in enumerate(own):
                for v in range(1, len(own)):
                    source = self._rng.permutation(members[own[(i + v) % len(own)]])
                    donors[v - 1, members[g]] = np.resize(source, len(members[g]))
        return donors


def _some_groups(explained: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the clouds of randomly drawn groups, about as many as are perturbed; or all."""
    if len(explained) <= 1.5 * _PERTURBED:
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

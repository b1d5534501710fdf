"""A labelled set of clouds, with the groups, folds and split that every model shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

FOLDS = 5


@dataclass(frozen=True, eq=False)
class FoldPart:
    """Some clouds of a task; `index` says which."""

    clouds: list[np.ndarray]
    labels: np.ndarray
    groups: np.ndarray
    index: np.ndarray

    def __len__(self) -> int:
        return len(self.clouds)


@dataclass(frozen=True, eq=False)
class Fold:
    """A fold: what is tested, what may choose, and what is learned from."""

    train: FoldPart
    validation: FoldPart
    test: FoldPart


@dataclass(frozen=True, eq=False)
class Task:
    """Clouds with labels, and how they are split.

    Attributes
    ----------
    name : str
    clouds : list of (n_i, D) arrays
    labels : (N,)
        Whole numbers, indices into `class_names`.
    groups : (N,)
        Clouds of one group (a shared start, a patient) stay on one side of every split.
    feature_names, class_names : tuples of str
    description : str
    seed : int
        Of the clouds, where they are made, and of the folds.
    folds : (N,)
        Five grouped, stratified folds, unless given: cloud i is tested in fold folds[i].
    split : (N,)
        "train", "validation" or "test", grouped too; unless given, fold 0 tests and fold 1
        validates.
    """

    name: str
    clouds: list[np.ndarray]
    labels: np.ndarray
    groups: np.ndarray
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    description: str = ""
    seed: int = 0
    folds: np.ndarray = None  # type: ignore[assignment]
    split: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.folds is None:
            folds = grouped_folds(self.labels, self.groups, self.seed, names=self.class_names)
            object.__setattr__(self, "folds", folds)
        if self.split is None:
            parts = np.where(self.folds == 1, "validation", "train")
            object.__setattr__(self, "split", np.where(self.folds == 0, "test", parts))

    def __len__(self) -> int:
        return len(self.clouds)

    @property
    def by_fold(self) -> bool:
        """Whether the coordinates of the clouds depend on the fold: then see `in_fold`."""
        return False

    def in_fold(self, number: int) -> list[np.ndarray]:
        """All clouds in the coordinates of a fold, fitted without the clouds that it tests."""
        self._check_fold(number)
        return self.clouds

    def fold(self, number: int) -> Fold:
        """A fold's clouds: those it tests, those of the next fold to validate on, the others."""
        clouds, last = self.in_fold(number), int(self.folds.max()) + 1
        validating = (number + 1) % last
        test, validation = self.folds == number, self.folds == validating
        parts = (~(test | validation), validation, test)
        return Fold(*(self._part(clouds, np.flatnonzero(part)) for part in parts))

    def _part(self, clouds: list[np.ndarray], index: np.ndarray) -> FoldPart:
        return FoldPart([clouds[i] for i in index], self.labels[index], self.groups[index], index)

    def _check_fold(self, number: int) -> None:
        if number not in set(self.folds.tolist()):
            raise ValueError(f"fold {number!r}: {self.name} has {sorted(set(self.folds.tolist()))}")

    @property
    def sizes(self) -> np.ndarray:
        """Points of every cloud: (N,)."""
        return np.array([len(cloud) for cloud in self.clouds])

    def __repr__(self) -> str:
        return (
            f"Task({self.name!r}: {len(self)} clouds of {self.size_range()} points in "
            f"R^{self.clouds[0].shape[1]}, {len(self.class_names)} classes)"
        )

    def size_range(self) -> str:
        low, high = self.sizes.min(), self.sizes.max()
        return f"{low}" if low == high else f"{low}-{high}"


def grouped_folds(
    labels: np.ndarray,
    groups: np.ndarray,
    seed: int,
    folds: int = FOLDS,
    names: Sequence[str] | None = None,
) -> np.ndarray:
    """The test fold of every cloud: stratified by label, groups kept together.

    Fewer than five where a class has fewer groups.
    """
    for label in np.unique(labels):
        count = len(np.unique(groups[labels == label]))
        if count < 2:
            name = repr(names[label]) if names is not None else str(label)
            raise ValueError(f"class {name} has clouds of 1 group only: folds need at least 2")
        folds = min(folds, count)
    found = np.empty(len(labels), dtype=np.int64)
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    for fold, (_, test) in enumerate(splitter.split(labels, labels, groups)):
        found[test] = fold
    return found

"""A labelled set of clouds, with the groups, folds and split that every model shares."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

FOLDS = 5


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
    folds : (N,)
        Five grouped, stratified folds: cloud i is tested in fold folds[i].
    split : (N,)
        "train", "validation" or "test", grouped too: fold 0 tests, fold 1 validates.
    """

    name: str
    clouds: list[np.ndarray]
    labels: np.ndarray
    groups: np.ndarray
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    description: str = ""
    seed: int = 0
    folds: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folds", grouped_folds(self.labels, self.groups, self.seed))

    def __len__(self) -> int:
        return len(self.clouds)

    @property
    def split(self) -> np.ndarray:
        return np.where(self.folds == 0, "test", np.where(self.folds == 1, "validation", "train"))

    def __repr__(self) -> str:
        sizes = [len(cloud) for cloud in self.clouds]
        low, high = min(sizes), max(sizes)
        size = f"{low}" if low == high else f"{low}-{high}"
        return (
            f"Task({self.name!r}: {len(self)} clouds of {size} points in "
            f"R^{self.clouds[0].shape[1]}, {len(self.class_names)} classes)"
        )


def grouped_folds(
    labels: np.ndarray, groups: np.ndarray, seed: int, folds: int = FOLDS
) -> np.ndarray:
    """The test fold of every cloud: stratified by label, groups kept together."""
    found = np.empty(len(labels), dtype=np.int64)
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    for fold, (_, test) in enumerate(splitter.split(labels, labels, groups)):
        found[test] = fold
    return found

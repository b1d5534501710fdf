"""A labelled set of clouds, with the groups, folds and split that every model shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pointforms.support.stratified_groups import stratified_group_folds

if TYPE_CHECKING:
    from pointforms.io.file_summary import FileSummary

FOLDS = 5
PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class FoldPart:
    """Some clouds of a task.

    Attributes
    ----------
    clouds : list of (n_i, D) array
    labels, groups : (m,) array
    index : (m,) array
        Their positions in the task.
    """

    clouds: list[np.ndarray]
    labels: np.ndarray
    groups: np.ndarray
    index: np.ndarray

    def __len__(self) -> int:
        return len(self.clouds)


@dataclass(frozen=True, eq=False)
class Fold:
    """A fold: clouds to learn from, to choose by, and to test on."""

    train: FoldPart
    validation: FoldPart
    test: FoldPart


@dataclass(frozen=True, eq=False)
class Task:
    """Clouds with labels, and how they are split.

    Parameters
    ----------
    name : str
        Its name in tables and file names.
    clouds : list of (n_i, D) array
        The points of the N clouds; tensors that carry weights, where points have any.
    labels : (N,) array of int or float
        Indices into `class_names`; numbers to predict if there are no classes.
    groups : (N,) array
        Clouds of one group, such as a patient, stay on one side of every split.
    feature_names : tuple of str
        Names of the D features.
    class_names : tuple of str
        Names of the classes; empty if the labels are numbers to predict.
    description : str, default ""
        One line.
    seed : int, default 0
        Seed of the folds, and of the clouds where they are simulated.
    folds : (N,) array of int, optional
        Cloud i is tested in fold folds[i]; the folds are 0, 1, …, and none is empty (default: five
        grouped, stratified folds).
    split : (N,) array of str, optional
        "train", "validation" or "test", grouped too (default: fold 0 tests and fold 1 validates).
    ids : tuple of str, default ()
        Names of the clouds; without any they are "0", "1", ….
    covariates : dict of (N,) array, optional
        What is known about whole clouds, by name; estimators take it as `covariates=`.
    batch : (N,) array, optional
        The batch in which each cloud was measured; estimators take it as `batch=`.
    summary : FileSummary, optional
        What was understood of the file that the task was read from. Print it.

    Raises
    ------
    ValueError
        If folds or parts of the split are not as described, or separate clouds of one group.

    Examples
    --------
    >>> import numpy as np
    >>> import pointforms as pf
    >>> rng = np.random.default_rng(0)
    >>> task = pf.tasks.Task(
    ...     "noise",
    ...     [rng.normal(size=(9, 2)) for _ in range(20)],
    ...     labels=np.arange(20) % 2,
    ...     groups=np.arange(20) // 2,
    ...     feature_names=("x", "y"),
    ...     class_names=("even", "odd"),
    ... )
    >>> task
    Task('noise': 20 clouds of 9 points in R^2, 2 classes)
    >>> len(task.fold(0).train), len(task.fold(0).validation), len(task.fold(0).test)
    (12, 4, 4)
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
    ids: tuple[str, ...] = ()
    covariates: dict[str, np.ndarray] | None = None
    batch: np.ndarray | None = None
    summary: FileSummary | None = None

    def __post_init__(self) -> None:
        self._check_one_each("labels", "groups")
        if self.folds is None:
            folds = grouped_folds(
                self.labels,
                self.groups,
                self.seed,
                names=None if self.regression else self.class_names,
            )
            object.__setattr__(self, "folds", folds)
        if self.split is None:
            parts = np.where(np.asarray(self.folds) == 1, "validation", "train")
            split = np.where(np.asarray(self.folds) == 0, "test", parts)
            object.__setattr__(self, "split", split)
        ids = tuple(map(str, self.ids))
        if ids == tuple(map(str, range(len(ids)))):  # none, or numbers of another task's clouds
            ids = tuple(map(str, range(len(self))))
        if len(ids) != len(self) or len(set(ids)) != len(ids):
            raise ValueError(
                f"ids of {self.name!r} are {len(set(ids))} names for {len(self)} clouds: expected "
                "a name of its own for each"
            )
        object.__setattr__(self, "ids", ids)
        columns = {f"covariate {k!r}": v for k, v in (self.covariates or {}).items()}
        columns |= {} if self.batch is None else {"batch": self.batch}
        for name, column in columns.items():
            if np.shape(column) != (len(self),):
                raise ValueError(
                    f"{name} of {self.name!r} has shape {np.shape(column)}: expected one value for "
                    f"each of {len(self)} clouds"
                )
        self._check_one_each("folds", "split")
        check_folds(self.folds)
        unknown = sorted(set(self.split.tolist()) - set(PARTS), key=str)
        if unknown:
            raise ValueError(f"split has the part {unknown[0]!r}: expected one of {PARTS}")
        check_kept_together(self.groups, self.folds, "folds")
        check_kept_together(self.groups, self.split, "parts of the split")

    def _check_one_each(self, *names: str) -> None:
        """Make attributes arrays, and raise an error unless they have one value for each cloud."""
        for name in names:
            values = np.asarray(getattr(self, name))
            if values.shape != (len(self),):
                raise ValueError(
                    f"{name} of {self.name!r} has shape {values.shape}: expected one value for "
                    f"each of {len(self)} clouds"
                )
            object.__setattr__(self, name, values)

    def __len__(self) -> int:
        return len(self.clouds)

    @property
    def regression(self) -> bool:
        """Whether the labels are numbers to predict, not classes."""
        return not self.class_names

    @property
    def by_fold(self) -> bool:
        """Whether the coordinates of the clouds depend on the fold; `in_fold` returns them."""
        return False

    def in_fold(self, number: int) -> list[np.ndarray]:
        """Return all clouds in the coordinates of a fold, fitted without its test clouds."""
        self._check_fold(number)
        return self.clouds

    def fold(self, number: int) -> Fold:
        """Return a fold: it tests its clouds, validates on the next, learns from the rest."""
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
        """Number of points of every cloud: (N,)."""
        return np.array([len(cloud) for cloud in self.clouds])

    def __repr__(self) -> str:
        what = "numbers" if self.regression else f"{len(self.class_names)} classes"
        return (
            f"Task({self.name!r}: {len(self)} clouds of {self.size_range()} points in "
            f"R^{self.clouds[0].shape[1]}, {what})"
        )

    def size_range(self) -> str:
        """Return the smallest and the largest number of points as text."""
        low, high = self.sizes.min(), self.sizes.max()
        return f"{low}" if low == high else f"{low}-{high}"


def paired_task(
    name: str,
    clouds: list[np.ndarray],
    feature_names: tuple[str, ...],
    class_names: tuple[str, str],
    seed: int,
) -> Task:
    """Return a task of clouds that alternate between two classes; each pair is a group."""
    order = np.arange(len(clouds))
    return Task(name, clouds, order % 2, order // 2, feature_names, class_names, seed=seed)


def check_folds(folds: np.ndarray) -> None:
    """Raise an error unless folds are numbered from 0, at least two, and none is empty."""
    present = np.unique(folds)
    if folds.dtype.kind not in "iu" or present.tolist() != list(range(max(2, len(present)))):
        shown = ", ".join(map(repr, present[:9].tolist())) + (", …" if len(present) > 9 else "")
        raise ValueError(
            f"the folds are {shown}: expected whole numbers from 0, at least two folds, none empty"
        )


class DividedGroupError(ValueError):
    """A group has clouds on more than one side of a split."""


def check_kept_together(groups: np.ndarray, sides: np.ndarray, what: str) -> None:
    """Raise a :class:`DividedGroupError` if a group has clouds on more than one side of a split.

    Parameters
    ----------
    groups : (N,) array
        The group of each cloud.
    sides : (N,) array
        Its fold, or its part of the split.
    what : str
        What the sides are called, for the message.
    """
    _, codes = np.unique(groups, return_inverse=True)
    _, first = np.unique(codes, return_index=True)
    apart = np.flatnonzero(sides != sides[first][codes])
    if len(apart):
        group = codes[apart[0]]
        on = ", ".join(map(repr, np.unique(sides[codes == group]).tolist()))
        count = len(np.unique(codes[apart]))
        more = f" (and {count - 1} more groups are divided)" if count > 1 else ""
        raise DividedGroupError(
            f"group {groups[apart[0]]!s} has clouds in the {what} {on}: "
            f"expected every group on one side{more}"
        )


def grouped_folds(
    labels: np.ndarray,
    groups: np.ndarray,
    seed: int,
    folds: int = FOLDS,
    names: Sequence[str] | None = None,
) -> np.ndarray:
    """Return the test fold of every cloud: stratified by label, groups kept together.

    There are fewer folds where a class has fewer groups. Numbers to predict are not stratified.

    Parameters
    ----------
    labels : (N,) array of int, or of float
        Classes, or numbers to predict.
    groups : (N,) array
    seed : int
        Seed of the assignment.
    folds : int, default 5
        Number of folds, at least 2.
    names : sequence of str, optional
        Names of the classes, for messages.
    """
    if folds < 2:
        raise ValueError(f"folds={folds}: expected at least 2")
    labels, groups = np.asarray(labels), np.asarray(groups)
    if labels.ndim != 1 or labels.shape != groups.shape:
        raise ValueError(
            f"labels have shape {labels.shape} and groups {groups.shape}: expected one label and "
            "one group of each cloud"
        )
    if not len(labels):
        raise ValueError("no clouds to divide into folds: expected clouds of at least 2 groups")
    if labels.dtype.kind == "f":
        from sklearn.model_selection import GroupKFold

        assigned = np.empty(len(labels), dtype=np.int64)
        folds = min(folds, len(np.unique(groups)))
        if folds < 2:
            raise ValueError("all clouds belong to one group: expected at least 2 groups")
        numbers = GroupKFold(folds, shuffle=True, random_state=seed)
        for fold, (_, test) in enumerate(numbers.split(labels, labels, groups)):
            assigned[test] = fold
        return assigned
    for label in np.unique(labels):
        count = len(np.unique(groups[labels == label]))
        if count < 2:
            name = repr(names[label]) if names is not None else str(label)
            raise ValueError(f"class {name} has clouds of 1 group only: expected at least 2 groups")
        folds = min(folds, count)
    return stratified_group_folds(labels, groups, folds, seed)

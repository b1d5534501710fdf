"""Which clouds each network of an ensemble holds out."""

from __future__ import annotations

from math import ceil

import numpy as np
from sklearn.model_selection import GroupKFold

from pointforms.support.stratified_groups import stratified_group_folds

# Most parts that the training clouds are divided into: members train on four fifths of them.
MOST_PARTS = 5


def held_out_folds(
    y: np.ndarray, groups: np.ndarray | None, members: int, seed: int, stratify: bool
) -> np.ndarray:
    """Divide clouds into folds, as often as the members of an ensemble need.

    Each member holds out one fold of one division, so that every cloud is held out by at least one
    member. Groups stay together, and with `stratify` every class is on both sides of each fold.

    Parameters
    ----------
    y : ndarray, shape (N,)
        Classes or numbers.
    groups : ndarray, shape (N,), or None
        The group of each cloud; None puts every cloud in a group of its own.
    members : int
        Number of members, at least 2.
    seed : int
        Seed of the divisions.
    stratify : bool
        Whether y holds classes, whose proportions the folds keep.

    Returns
    -------
    ndarray of int, shape (divisions, N)
        The fold of each cloud, 0 to K - 1, in each division. Empty, (0, N), if there are too few
        groups for two folds.
    """
    names = np.arange(len(y)) if groups is None else np.unique(groups, return_inverse=True)[1]
    count = len(np.unique(names))
    if stratify:
        count = min(count, *(len(np.unique(names[y == c])) for c in np.unique(y)))
    for parts in range(min(MOST_PARTS, members, count), 1, -1):
        divisions = [
            _division(y, names, parts, seed + i, stratify) for i in range(ceil(members / parts))
        ]
        if all(division is not None for division in divisions):
            return np.stack(divisions)  # type: ignore[arg-type]
    return np.zeros((0, len(y)), dtype=np.int64)


def _division(
    y: np.ndarray, groups: np.ndarray, parts: int, seed: int, stratify: bool
) -> np.ndarray | None:
    """Return the fold of each cloud, or None if a training part would lack a class."""
    if stratify:
        folds = stratified_group_folds(y, groups, parts, seed)
    else:
        folds = np.zeros(len(y), dtype=np.int64)
        splits = GroupKFold(parts, shuffle=True, random_state=seed).split(y, groups=groups)
        for i, (_, held_out) in enumerate(splits):
            folds[held_out] = i
    for i in range(parts):
        train = folds != i
        if stratify and len(np.unique(y[train])) < len(np.unique(y)):
            return None
        if not train.any() or train.all():
            return None
    return folds

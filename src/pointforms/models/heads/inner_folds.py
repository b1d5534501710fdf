"""Folds of the training clouds, on which heads choose their options."""

from __future__ import annotations

from typing import Any

import numpy as np

from pointforms.support.stratified_groups import stratified_group_folds

Folds = list[tuple[np.ndarray, np.ndarray]]

_FOLDS = 5


def inner_folds(codes: np.ndarray, groups: Any, seed: int) -> Folds:
    """Return up to five folds (train, validation) with every class on both sides.

    Groups stay together. The list is empty where classes and groups do not allow two folds.
    """
    members = np.arange(len(codes)) if groups is None else np.unique(groups, return_inverse=True)[1]
    classes = np.unique(codes)
    most = min(_FOLDS, *(len(np.unique(members[codes == c])) for c in classes))
    for count in range(most, 1, -1):
        fold = stratified_group_folds(codes, members, count, seed)
        folds = [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(count)]
        if all(len(np.unique(codes[part])) == len(classes) for fold in folds for part in fold):
            return folds
    return []

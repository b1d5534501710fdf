"""Split the validation part off the training clouds of a fit."""

from __future__ import annotations

from math import ceil

import numpy as np
from sklearn.model_selection import GroupShuffleSplit

from pointforms.support.stratified_groups import stratified_group_folds


def validation_part(
    y: np.ndarray, groups: np.ndarray | None, fraction: float, seed: int, stratify: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of training and validation clouds.

    Groups stay together, and with `stratify` the classes y keep their proportions. If there are too
    few groups to hold any back, or `fraction` is 0, both parts are all clouds.
    """
    everything = np.arange(len(y))
    members = everything if groups is None else np.unique(groups, return_inverse=True)[1]
    count = len(np.unique(members))
    if fraction == 0 or count < 2:
        return everything, everything
    if stratify:
        smallest = min(len(np.unique(members[y == c])) for c in np.unique(y))
        splits = min(max(2, round(1 / fraction)), smallest)
        if splits >= 2:
            held_out = stratified_group_folds(y, members, splits, seed) == 0
            if len(np.unique(y[~held_out])) == len(np.unique(y)):
                return everything[~held_out], everything[held_out]
        return everything, everything
    held_back = min(count - 1, ceil(fraction * count))  # at least one group is left for training
    shuffled = GroupShuffleSplit(1, test_size=held_back, random_state=seed)
    train, validation = next(shuffled.split(y, y, members))
    return train, validation

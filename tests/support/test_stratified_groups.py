from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedGroupKFold

from pointforms.support.stratified_groups import stratified_group_folds


@pytest.mark.parametrize("classes", [2, 3, 9])
@pytest.mark.parametrize("count", [2, 5, 7])
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_folds_are_those_of_scikit_learn(classes, count):
    for seed in range(8):
        rng = np.random.default_rng([classes, count, seed])
        N = int(rng.integers(60, 300))
        y = np.append(np.arange(classes), rng.integers(classes, size=N - classes))
        groups = rng.permutation(N) if seed == 0 else rng.integers(7, 20 * seed + 8, size=N)
        expected = np.full(N, -1)
        splitter = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
        for i, (_, held_out) in enumerate(splitter.split(y, y, groups)):
            expected[held_out] = i
        np.testing.assert_array_equal(stratified_group_folds(y, groups, count, seed), expected)


def test_groups_stay_together_and_classes_in_proportion():
    groups = np.repeat(np.arange(30), 4)
    y = np.tile([0, 0, 0, 1], 30)
    folds = stratified_group_folds(y, groups, 5, seed=3)
    assert all(len(set(folds[groups == group])) == 1 for group in range(30))
    assert np.bincount(folds).tolist() == [24] * 5


@pytest.mark.parametrize("count", [-1, 0, 1, 4])
def test_impossible_counts_are_refused(count):
    with pytest.raises(ValueError, match=f"^{count} folds of 3 groups: expected 2 to 3$"):
        stratified_group_folds(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 2]), count, seed=0)


@pytest.mark.parametrize(("classes", "groups"), [((4,), (3,)), ((4, 1), (4, 1)), ((), ())])
def test_other_shapes_are_refused(classes, groups):
    with pytest.raises(ValueError, match=r"classes have shape \(.*\) and groups \(.*\): expected"):
        stratified_group_folds(np.zeros(classes), np.zeros(groups), 2, seed=0)


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_groups_are_refused(count):
    message = f"^number of groups: {count}. Folds need at least 2 groups$"
    with pytest.raises(ValueError, match=message):
        stratified_group_folds(np.zeros(count), np.zeros(count), 2, seed=0)

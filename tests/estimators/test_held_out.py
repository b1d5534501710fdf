"""Folds that the members of an ensemble hold out."""

from __future__ import annotations

import numpy as np
import pytest

from pointforms.estimators.held_out import MOST_PARTS, held_out_folds

Y = np.arange(40) % 2


@pytest.mark.parametrize(
    ("members", "parts", "divisions"),
    [(2, 2, 1), (3, 3, 1), (5, 5, 1), (6, 5, 2), (7, 5, 2), (10, 5, 2), (11, 5, 3)],
)
@pytest.mark.parametrize("stratify", [True, False])
def test_members_have_a_fold_each(members, parts, divisions, stratify):
    """Each division puts every cloud in one of up to five folds, and none is empty."""
    folds = held_out_folds(Y, None, members, seed=0, stratify=stratify)
    assert folds.shape == (divisions, 40)
    for division in folds:
        assert np.unique(division).tolist() == list(range(parts))
        sizes = np.bincount(division)
        assert sizes.max() - sizes.min() <= 2
    assert parts <= MOST_PARTS
    assert len({tuple(division) for division in folds}) == divisions  # another one each time


def test_classes_keep_their_proportions():
    y = np.r_[np.zeros(30, int), np.ones(10, int)]
    [folds] = held_out_folds(y, None, 5, seed=0, stratify=True)
    for fold in range(5):
        assert np.bincount(y[folds == fold]).tolist() == [6, 2]


@pytest.mark.parametrize("stratify", [True, False])
def test_groups_are_held_out_as_a_whole(stratify, rng):
    groups = rng.permutation(np.repeat(np.arange(12), 4)[:40])
    y = groups % 2
    for seed in range(5):
        for division in held_out_folds(y, groups, 7, seed, stratify):
            assert all(len(np.unique(division[groups == group])) == 1 for group in range(10))
            for fold in np.unique(division):
                assert not stratify or set(y[division != fold]) == {0, 1}


def test_the_names_of_groups_do_not_matter():
    groups = np.arange(40) // 2
    named = np.array([f"patient {group:02}" for group in groups])
    np.testing.assert_array_equal(
        held_out_folds(Y, groups, 5, 3, True), held_out_folds(Y, named, 5, 3, True)
    )


def test_another_seed_is_another_division():
    first, same, other = (held_out_folds(Y, None, 5, seed, True) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


@pytest.mark.parametrize(
    ("y", "groups", "parts"),
    [
        ([0] * 9 + [1] * 3, None, 3),  # one cloud of the rare class in each fold
        ([0] * 9 + [1] * 2, None, 2),
        ([0, 0, 0, 1, 1, 1, 1, 1], [0, 1, 1, 2, 3, 4, 5, 6], 2),  # two groups of a class
    ],
)
def test_a_rare_class_has_fewer_folds(y, groups, parts):
    y, groups = np.array(y), None if groups is None else np.array(groups)
    for division in held_out_folds(y, groups, 5, 0, True):
        assert len(np.unique(division)) == parts
        assert all(set(y[division != fold]) == {0, 1} for fold in range(parts))


@pytest.mark.parametrize(
    ("y", "groups", "stratify"),
    [
        ([0] * 9 + [1], None, True),  # a class with one cloud
        ([0, 0, 1, 1], [0, 1, 2, 2], True),  # a class with one group
        ([0.5, 0.1, 0.3], [7, 7, 7], False),  # one group
    ],
)
def test_too_few_groups_are_held_out_by_none(y, groups, stratify):
    y, groups = np.array(y), None if groups is None else np.array(groups)
    assert held_out_folds(y, groups, 5, 0, stratify).shape == (0, len(y))

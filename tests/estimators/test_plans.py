"""Which networks a fit trains, and on which clouds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pointforms.estimators.fits import Fit
from pointforms.estimators.plans import Plan, Recipe
from pointforms.estimators.targets import ClassTargets, NumberTargets

GROUPS = np.arange(200) // 2
LABELS = GROUPS % 2


def plan(
    count: int,
    groups: np.ndarray | None = None,
    folds: np.ndarray | None = None,
    targets: Any = None,
    **options: Any,
) -> Any:
    """The plan for every other of 2 × count clouds."""
    recipe = Recipe(**({"members": 1, "validation_fraction": 0.15, "learning_rate": 3e-3,
                        "decays": (1e-3,)} | options))  # fmt: skip
    targets = ClassTargets.of(LABELS, 200) if targets is None else targets
    return recipe.plan(np.arange(0, 2 * count, 2), targets, groups, 5, folds)


def times_held_out(made: Plan) -> np.ndarray:
    held_out = np.concatenate([fit.validation for fit in made.scouts[0]])
    return np.array([(held_out == cloud).sum() for cloud in made.clouds])


def check(made: Plan) -> None:
    """What holds for all plans that hold out everything."""
    for scouts in made.scouts:
        assert len(scouts) == len(made.places)
        for fit, (division, fold) in zip(scouts, made.places, strict=True):
            own = made.folds[division] == fold
            np.testing.assert_array_equal(fit.validation, made.clouds[own])
            np.testing.assert_array_equal(fit.train, made.clouds[~own])
    assert len({id(fit.batches) for fit in every(made)}) == 1
    np.testing.assert_array_equal(every(made)[0].batches.clouds, made.clouds)
    assert made.holds_out_all()


class TestOneNetwork:
    @pytest.mark.parametrize("count", [96, 100])
    def test_it_has_a_validation_part_that_is_large_enough(self, count):
        fit = plan(count, validation_fraction=0.25)
        assert isinstance(fit, Fit)
        assert len(fit.validation) >= 24
        both = np.sort(np.r_[fit.train, fit.validation])
        np.testing.assert_array_equal(both, np.arange(0, 2 * count, 2))
        assert fit.batches is None

    def test_it_trains_on_everything_where_nothing_is_validated(self):
        fit = plan(20, validation_fraction=0)
        assert isinstance(fit, Fit)
        np.testing.assert_array_equal(fit.train, np.arange(0, 40, 2))
        np.testing.assert_array_equal(fit.validation, fit.train)

    @pytest.mark.parametrize("count", [10, 30, 90])
    def test_others_choose_its_epoch_where_the_part_is_too_small(self, count):
        made = plan(count)
        check(made)
        assert len(made.places) == 5
        assert (times_held_out(made) == 1).all()
        [[kept]] = made.kept
        np.testing.assert_array_equal(kept.train, made.clouds)
        assert not len(kept.validation)
        assert kept.seed == 5

    def test_with_few_clouds_of_a_class_all_are_held_out_equally_often(self):
        made = plan(8)  # four of each class: four folds, twice
        check(made)
        assert len(made.places) == 8
        assert (times_held_out(made) == 2).all()

    def test_a_class_with_one_cloud_is_held_out_by_none(self):
        labels = np.zeros(200, int)
        labels[4] = 1
        fit = plan(10, targets=ClassTargets.of(labels, 200))
        assert isinstance(fit, Fit)
        np.testing.assert_array_equal(fit.train, fit.validation)

    def test_several_decays_share_a_validation_part_that_is_large_enough(self):
        one = plan(100, validation_fraction=0.25)
        made = plan(100, validation_fraction=0.25, decays=(0.1, 1.0))
        assert not made.holds_out_all()
        assert [[fit.weight_decay for fit in scouts] for scouts in made.scouts] == [[0.1], [1.0]]
        for [fit] in made.scouts:
            np.testing.assert_array_equal(fit.train, one.train)
            np.testing.assert_array_equal(fit.validation, one.validation)


class TestMembers:
    @pytest.mark.parametrize("members", [2, 3, 5, 10])
    def test_every_cloud_is_held_out_equally_often(self, members):
        made = plan(40, members=members)
        check(made)
        assert len(made.places) == members
        assert not made.kept
        assert (times_held_out(made) == max(1, members // 5)).all()

    @pytest.mark.parametrize("members", [4, 6, 7, 13])
    def test_every_cloud_is_held_out_at_least_once(self, members):
        made = plan(40, members=members)
        check(made)
        assert len(made.places) == members
        counts = times_held_out(made)
        assert counts.min() >= members // 5
        assert counts.max() <= counts.min() + 1

    def test_large_cohorts_too(self):
        check(plan(100, members=3, validation_fraction=0.5))

    def test_members_have_their_own_seeds(self):
        seeds = [fit.seed for fit in plan(40, members=7).scouts[0]]
        assert len(set(seeds)) == 7
        assert seeds[0] == 5
        assert all(0 <= seed < 2**31 for seed in seeds)

    def test_too_few_groups_are_validated_on_by_all(self):
        made = plan(10, groups=np.zeros(200, int), members=3)
        assert not made.holds_out_all()
        assert len(made.scouts[0]) == 3
        assert len({fit.seed for fit in made.scouts[0]}) == 3

    @pytest.mark.parametrize("members", [1, 3])
    def test_given_folds_are_those_of_the_members(self, members):
        folds = np.arange(12) % 4
        made = plan(12, folds=folds, members=members)
        check(made)
        np.testing.assert_array_equal(made.folds, folds[None])
        assert made.places == [(0, 0), (0, 1), (0, 2), (0, 3)]
        assert not made.kept

    @pytest.mark.parametrize("members", [1, 5])
    def test_decays_differ_in_nothing_else(self, members):
        made = plan(30, members=members, decays=(0.1, 1.0, 10.0))
        check(made)
        kept = made.kept or [[]] * 3
        groups = [scouts + own for scouts, own in zip(made.scouts, kept, strict=True)]
        for fits in zip(*groups, strict=True):
            assert [fit.weight_decay for fit in fits] == [0.1, 1.0, 10.0]
            assert len({fit.seed for fit in fits}) == 1
            assert all(np.array_equal(fit.train, fits[0].train) for fit in fits)


def every(made: Plan) -> list[Fit]:
    return [fit for some in made.scouts + made.kept for fit in some]


def test_networks_can_have_batches_of_their_own():
    made, shared = (plan(30, share_batches=share) for share in (False, True))
    for own, other in zip(every(made), every(shared), strict=True):
        assert own.batches is None
        assert other.batches is not None
        np.testing.assert_array_equal(own.train, other.train)
        assert own.seed == other.seed


@pytest.mark.parametrize("members", [1, 2, 7])
@pytest.mark.parametrize("kind", [ClassTargets, NumberTargets])
def test_groups_are_on_one_side(members, kind, rng):
    groups = rng.permutation(100).repeat(2) // 5
    y = groups % 2
    made = plan(40, groups, targets=kind.of(y, 200), members=members)
    check(made)
    for fit in made.scouts[0]:
        assert not set(groups[fit.train]) & set(groups[fit.validation])


def test_weights_are_those_of_the_training_clouds():
    weights = 1.0 + np.arange(200)
    made = plan(30, targets=ClassTargets.of(LABELS, 200, None, weights), members=3)
    for fit in made.scouts[0]:
        ratios = fit.weights / weights[fit.train]
        np.testing.assert_allclose(ratios, ratios[0])
    balanced = plan(30, targets=ClassTargets.of(LABELS, 200, "balanced"), members=3)
    for fit in balanced.scouts[0]:
        sums = np.bincount(LABELS[fit.train], fit.weights)
        assert sums[0] == pytest.approx(sums[1])

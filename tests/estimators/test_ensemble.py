"""Ensembles: members alone and together, their average, and what they predict out of fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import softmax
from sklearn.base import clone
from sklearn.metrics import log_loss, roc_auc_score
from tests.helpers.tiny_estimators import some_clouds

import pointforms as pf
from pointforms.estimators import ensemble, network_estimator, plans
from pointforms.estimators.ensemble import Ensemble, stack_size
from pointforms.estimators.fits import Schedule
from pointforms.estimators.prediction import apply
from pointforms.estimators.targets import ClassTargets, NumberTargets
from pointforms.models.neural import NeuralClassifier
from pointforms.nn.average import AverageNetwork, first_member

CLOUDS = some_clouds(count=24)
Y = np.arange(24) % 2
TINY: dict[str, Any] = {
    "forms": 2, "hidden": (8,), "head": 4, "neighbors": 5, "dimension": 2, "epochs": 3,
    "batch_size": 8, "learning_rate": 1e-2, "random_state": 0,
}  # fmt: skip


def make(kind: str = "forms", **options: Any) -> Any:
    if kind == "forms":
        return pf.PointFormClassifier(**(TINY | options))
    short = {"epochs": 3, "batch_size": 8, "random_state": 0}
    return NeuralClassifier(network=kind, neighbors=3, **(short | options))


def trained(estimator: Any, y: np.ndarray = Y, **options: Any) -> tuple[Ensemble, Any]:
    """Train networks of seed 7 on all clouds, as fit does; return them and the store."""
    estimator = clone(estimator)
    estimator.adapt(CLOUDS)
    store = estimator.make_store(estimator.prepare(CLOUDS))
    numbers = isinstance(estimator, pf.PointFormRegressor)
    targets = (NumberTargets if numbers else ClassTargets).of(y, 24)
    [fitted] = estimator.train_networks(store, targets, [(np.arange(24), 7)], **options)
    return fitted, store


def same(one: Any, other: Any, atol: float) -> None:
    for name, value in one.state_dict().items():
        torch.testing.assert_close(value, other.state_dict()[name], rtol=0, atol=atol)


class TestTogetherAndAlone:
    @pytest.mark.parametrize(
        ("kind", "options"),
        [
            ("forms", {"members": 3}),
            ("forms", {}),
            ("forms", {"members": 6, "weight_decay": "auto", "epochs": 2}),
            ("forms", {"members": 3, "points_per_epoch": 4}),
            ("forms", {"degree": 2, "coefficients": "wedge", "frame": "both"}),
            ("mlp", {"members": 3}),
        ],
    )
    @pytest.mark.parametrize("shared", [True, False], ids=["shared", "own"])
    def test_a_member_does_not_depend_on_the_others(self, kind, options, shared, monkeypatch):
        """One stack, stacks of two, or each network by itself, with the same batches or its own."""
        monkeypatch.setattr(network_estimator, "_MUCH_GEOMETRY", 0 if shared else 10**9)
        estimator = make(kind, dtype="float64", **options)
        together, _ = trained(estimator)
        for size in (2, 1):
            monkeypatch.setattr(ensemble, "stack_size", lambda *_, size=size: size)
            alone, _ = trained(estimator)
            same(together.model, alone.model, atol=1e-9)
            assert together.best_epoch == alone.best_epoch
            assert together.decay == alone.decay
            np.testing.assert_allclose(together.out_of_fold, alone.out_of_fold, atol=1e-9)
            for a, b in zip(together.history, alone.history, strict=True):
                assert a == pytest.approx(b, rel=1e-9)

    def test_a_decay_that_ends_early_does_not_change_the_others(self, monkeypatch):
        """One that is far too strong stops improving at once."""
        options = {"members": 3, "epochs": 8, "patience": 2, "dtype": "float64"}
        monkeypatch.setattr(network_estimator, "DECAYS", (1e-3, 300.0))
        both, _ = trained(make(weight_decay="auto", **options))
        one, _ = trained(make(weight_decay=1e-3, **options))
        assert both.decay == 1e-3
        assert len(both.history) == len(one.history)
        same(both.model, one.model, atol=1e-9)

    def test_graphs_train_one_at_a_time(self):
        fitted, store = trained(make("gcn", members=2))
        assert stack_size(store, Schedule(3, 8)) == 1
        assert len(fitted.model.members) == 2

    def test_large_clouds_train_in_smaller_stacks(self, rng):
        clouds = [rng.normal(size=(600, 3)) for _ in range(4)]
        _, small = trained(make())
        large = pf.nn.FieldStore(pf.gram_fields(clouds, neighbors=8, dimension=2))
        assert stack_size(small, Schedule(3, 8)) > stack_size(large, Schedule(3, 8)) >= 1
        assert stack_size(large, Schedule(3, 8, points=50)) > stack_size(large, Schedule(3, 8))


class TestAverage:
    @pytest.mark.parametrize("kind", ["forms", "mlp", "gcn"])
    def test_probabilities_are_the_mean_of_those_of_the_members(self, kind):
        model = make(kind, members=3).fit(CLOUDS, Y)
        assert isinstance(model.model_, AverageNetwork)
        store = model.make_store(model.prepare(CLOUDS), first_member(model.model_).origin)
        each = [softmax(apply(one, store).double().numpy(), 1) for one in model.model_.members]
        assert len(each) == 3
        np.testing.assert_allclose(model.predict_proba(CLOUDS), np.mean(each, 0), atol=1e-6)
        assert abs(each[0] - each[1]).max() > 1e-3  # they differ

    def test_numbers_are_the_mean_of_those_of_the_members(self, rng):
        y = 5 + 2 * rng.normal(size=(24, 2))
        model = pf.PointFormRegressor(**TINY, members=3).fit(CLOUDS, y)
        store = model.make_store(model.prepare(CLOUDS))
        each = [apply(one, store).double().numpy() for one in model.model_.members]
        expected = np.mean(each, 0) * y.std(0) + y.mean(0)
        np.testing.assert_allclose(model.predict(CLOUDS), expected, rtol=1e-5)

    @pytest.mark.parametrize("epochs", [0, 2])
    def test_features_are_those_of_all_members(self, epochs):
        model = pf.PointFormTransformer(**(TINY | {"epochs": epochs, "members": 3}))
        features = model.fit_transform(CLOUDS, Y)
        assert features.shape == (24, 9)
        assert len(model.get_feature_names_out()) == 9
        store = model.make_store(model.prepare(CLOUDS))
        for i, one in enumerate(model.model_.members):
            own = apply(one, store, one.features).double().numpy()
            np.testing.assert_allclose(features[:, 3 * i : 3 * i + 3], own, atol=1e-6)
        assert abs(features[:, :3] - features[:, 3:6]).max() > 1e-3

    def test_one_member_is_a_network_as_before(self):
        model = make().fit(CLOUDS, Y)
        assert isinstance(model.model_, pf.nn.PointFormNetwork)
        parameters = model.count_parameters()
        assert make(members=3).fit(CLOUDS, Y).count_parameters() == 3 * parameters

    def test_extreme_probabilities_stay_finite(self):
        """The logarithm of a mean of probabilities that underflow."""

        class Sure(torch.nn.Module):
            def forward(self, batch: torch.Tensor) -> torch.Tensor:
                return batch * torch.tensor([1.0, -1.0])

        outputs = AverageNetwork([Sure(), Sure()], probabilities=True)(torch.full((1, 2), 500.0))
        assert torch.isfinite(outputs).all()
        torch.testing.assert_close(outputs.softmax(-1), torch.tensor([[1.0, 0.0]]))


class TestOutOfFold:
    FOLDS = np.arange(24) // 2 % 4

    @pytest.mark.parametrize("kind", ["forms", "mlp"])
    def test_each_cloud_is_predicted_by_the_member_that_held_it_out(self, kind):
        fitted, store = trained(make(kind, epochs=1), folds=self.FOLDS)
        assert len(fitted.model.members) == 4
        for fold, member in enumerate(fitted.model.members):
            own = fold == self.FOLDS
            expected = softmax(apply(member, store).double().numpy()[own], 1)
            np.testing.assert_allclose(fitted.out_of_fold[own], expected, atol=1e-6)
        expected = log_loss(Y, fitted.out_of_fold)
        assert fitted.history[0]["validation"] == pytest.approx(expected, rel=1e-5)

    def test_clouds_that_are_held_out_twice_have_the_mean(self):
        model = make(epochs=1, members=10).fit(CLOUDS, Y)
        store = model.make_store(model.prepare(CLOUDS))
        seed = int(np.random.RandomState(0).randint(2**31 - 1))
        plan = model._recipe().plan(np.arange(24), ClassTargets.of(Y, 24), None, seed)
        expected = np.zeros((24, 2))
        for fit, member in zip(plan.scouts[0], model.model_.members, strict=True):
            outputs = apply(member, store).double().numpy()[fit.validation]
            expected[fit.validation] += softmax(outputs, 1) / 2
        np.testing.assert_allclose(model.oof_predictions_, expected, atol=1e-6)

    @pytest.mark.parametrize("kind", ["forms", "mlp"])
    def test_the_label_of_a_cloud_does_not_train_what_predicts_it(self, kind):
        """The other label changes the networks that others are predicted by, and those alone."""
        estimator = make(kind, epochs=1, dtype="float64")
        before, _ = trained(estimator, folds=self.FOLDS)
        flipped = Y.copy()
        flipped[5] = 1 - flipped[5]
        after, _ = trained(estimator, flipped, folds=self.FOLDS)
        own = self.FOLDS[5] == self.FOLDS
        np.testing.assert_allclose(after.out_of_fold[own], before.out_of_fold[own], atol=1e-12)
        assert abs(after.out_of_fold[~own] - before.out_of_fold[~own]).max() > 1e-3

    def test_the_loss_of_a_cloud_does_not_choose_its_epoch(self, monkeypatch):
        """With other losses of a fold the ensemble keeps another epoch, the fold does not."""
        estimator = make(epochs=6, patience=60, learning_rate=0.05, dtype="float64")
        add, own = ensemble._Branch.add, self.FOLDS == 1

        def fitted(best: int) -> Ensemble:
            def changed(branch, scouts):
                worse = 1000.0 * (len(branch.pooled) != best)
                second = scouts[1]._replace(losses=np.full_like(scouts[1].losses, worse))
                add(branch, [scouts[0], second, *scouts[2:]])

            monkeypatch.setattr(ensemble._Branch, "add", changed)
            return trained(estimator, folds=self.FOLDS)[0]

        first, last = fitted(best=0), fitted(best=5)
        assert (first.best_epoch, last.best_epoch) == (0, 5)
        np.testing.assert_array_equal(first.out_of_fold[own], last.out_of_fold[own])
        assert (first.out_of_fold[~own] != last.out_of_fold[~own]).all()

    @pytest.mark.parametrize("options", [{}, {"members": 3}, {"weight_decay": "auto"}])
    def test_a_fit_keeps_them(self, options):
        model = make(**options).fit(CLOUDS, Y)
        assert model.oof_predictions_.shape == (24, 2)
        np.testing.assert_allclose(model.oof_predictions_.sum(1), 1)

    def test_numbers_are_in_units_of_the_target(self, rng):
        y = 1000 + 50 * rng.normal(size=24)
        model = pf.PointFormRegressor(**(TINY | {"epochs": 1})).fit(CLOUDS, y)
        assert model.oof_predictions_.shape == (24,)
        assert abs(model.oof_predictions_ - 1000).max() < 300
        both = pf.PointFormRegressor(**(TINY | {"epochs": 1})).fit(CLOUDS, np.c_[y, y])
        assert both.oof_predictions_.shape == (24, 2)

    def test_clouds_of_weight_0_have_none(self):
        weights = np.r_[np.ones(20), np.zeros(4)]
        model = make(members=2).fit(CLOUDS, Y, sample_weight=weights)
        assert np.isfinite(model.oof_predictions_[:20]).all()
        assert np.isnan(model.oof_predictions_[20:]).all()
        alone = make(members=2).fit(CLOUDS[:20], Y[:20])
        np.testing.assert_allclose(model.oof_predictions_[:20], alone.oof_predictions_, atol=1e-6)

    def test_a_single_validation_part_has_none(self):
        model = make(members=2).fit(CLOUDS, Y)
        model.set_params(members=1, validation_fraction=0).fit(CLOUDS, Y)
        assert not hasattr(model, "oof_predictions_")

    def test_random_forms_have_none(self):
        model = pf.PointFormTransformer(**TINY).fit(CLOUDS, Y)
        assert model.oof_predictions_.shape == (24, 2)
        model.set_params(epochs=0).fit(CLOUDS, Y)
        assert not hasattr(model, "oof_predictions_")

    def test_groups_stay_together(self):
        """Copies of a cloud with a label of their own: memory helps only if they are separated."""
        rng = np.random.default_rng(3)
        places = np.repeat(4 * rng.normal(size=(12, 3)), 4, axis=0)
        clouds = [place + 0.1 * rng.normal(size=(8, 3)) for place in places]
        groups = np.repeat(np.arange(12), 4)
        y = np.repeat(rng.permutation(np.arange(12) % 2), 4)
        options = {"epochs": 15, "patience": 40, "weight_decay": 1e-3}
        apart, together = (
            make("mlp", **options).fit(clouds, y, groups=some).oof_predictions_[:, 1]
            for some in (None, groups)
        )
        assert roc_auc_score(y, apart) > 0.9
        assert roc_auc_score(y, together) < 0.8


class TestChoice:
    def test_the_decay_of_the_smallest_loss_is_kept(self, monkeypatch):
        """That of a run with each decay by itself, whose networks have the same seeds."""
        monkeypatch.setattr(network_estimator, "DECAYS", (1e-3, 3.0, 100.0))
        for members in (1, 3):
            options = {"epochs": 5, "members": members, "dtype": "float64"}
            auto, _ = trained(make(weight_decay="auto", **options))
            alone = {
                decay: trained(make(weight_decay=decay, **options))[0]
                for decay in (1e-3, 3.0, 100.0)
            }
            best = {d: min(h["validation"] for h in one.history) for d, one in alone.items()}
            assert len(set(best.values())) == 3
            assert auto.decay == min(best, key=best.__getitem__)
            assert auto.history == [pytest.approx(h) for h in alone[auto.decay].history]
            same(auto.model, alone[auto.decay].model, atol=1e-9)

    def test_it_is_chosen_on_a_validation_part_that_is_large_enough(self, monkeypatch):
        monkeypatch.setattr(network_estimator, "DECAYS", (1e-3, 30.0))
        monkeypatch.setattr(plans, "_FEW", 4)
        options = {"epochs": 4, "validation_fraction": 0.25, "dtype": "float64"}
        auto, _ = trained(make(weight_decay="auto", **options))
        alone = {d: trained(make(weight_decay=d, **options))[0] for d in (1e-3, 30.0)}
        best = {d: min(h["validation"] for h in one.history) for d, one in alone.items()}
        assert auto.decay == min(best, key=best.__getitem__)
        assert auto.history[auto.best_epoch]["validation"] == pytest.approx(
            best[auto.decay], rel=1e-3
        )
        assert auto.out_of_fold is None

    def test_all_members_keep_the_epoch_of_the_smallest_pooled_loss(self):
        fitted, store = trained(make(members=3, epochs=8, learning_rate=0.05, patience=60))
        losses = [one["validation"] for one in fitted.history]
        assert fitted.best_epoch == int(np.argmin(losses))
        plan = make(members=3)._recipe().plan(np.arange(24), ClassTargets.of(Y, 24), None, 7)
        held_out = []
        for fit, member in zip(plan.scouts[0], fitted.model.members, strict=True):
            outputs = softmax(apply(member, store).double().numpy()[fit.validation], 1)
            held_out.append(-np.log(outputs[np.arange(len(outputs)), Y[fit.validation]]))
        assert np.concatenate(held_out).mean() == pytest.approx(min(losses), rel=1e-4)

    def test_the_loss_of_several_parts_needs_less_patience(self):
        options = {"learning_rate": 0.3, "epochs": 60, "patience": 8}
        for members, patience in ((5, 4), (10, 3)):  # 8 / √parts, rounded up
            fitted, _ = trained(make(members=members, **options))
            assert len(fitted.history) == fitted.best_epoch + 1 + patience
            assert fitted.stopped

    def test_the_loss_of_a_guess_is_that_of_the_frequencies_of_each_part(self):
        fitted, _ = trained(make(), folds=TestOutOfFold.FOLDS)
        expected = []
        for fold in range(4):
            own = fold == TestOutOfFold.FOLDS
            share = Y[~own].mean()
            expected.append(np.where(Y[own] == 1, -np.log(share), -np.log(1 - share)))
        assert fitted.guess == pytest.approx(np.concatenate(expected).mean())

    def test_after_the_deadline_no_epoch_starts(self):
        fitted, _ = trained(make(members=2, epochs=50), deadline=0.0)
        assert len(fitted.history) == 1
        alone, _ = trained(make(epochs=50, validation_fraction=0), deadline=0.0)
        assert len(alone.history) == 1

    @pytest.mark.parametrize("options", [{}, {"members": 2}, {"validation_fraction": 0}])
    def test_a_fit_that_diverges_is_an_error(self, options):
        with pytest.raises(ValueError, match="training diverged: the loss was never finite"):
            make(learning_rate=1e30, **options).fit(CLOUDS, Y)


class TestFewClouds:
    """Six clouds of each class: no part of them is large enough to choose an epoch."""

    @staticmethod
    def oof_auroc(seed: int, **options: Any) -> float:
        rng = np.random.default_rng(seed)
        y = np.arange(12) % 2
        clouds = [rng.normal(size=(100, 10)) + (np.arange(10) == 4) * label for label in y]
        model = pf.PointFormClassifier(random_state=seed, **options).fit(clouds, y)
        return float(roc_auc_score(y, model.oof_predictions_[:, 1]))

    def test_a_shift_of_one_deviation_is_found(self):
        small = {"forms": 4, "hidden": (16,), "neighbors": 16, "dimension": 4, "epochs": 30}
        assert np.median([self.oof_auroc(seed, **small) for seed in range(3)]) >= 0.9

    @pytest.mark.slow
    def test_by_default_for_most_seeds(self):
        found = [self.oof_auroc(seed) for seed in range(10)]
        assert np.mean(np.array(found) >= 0.9) >= 0.8

    def test_the_network_that_is_kept_is_trained_on_all_of_them(self):
        """It has as many steps as those that hold out a part, and knows every cloud."""
        fitted, store = trained(make(epochs=30, patience=60))
        outputs = apply(fitted.model, store)
        assert not isinstance(fitted.model, AverageNetwork)
        assert fitted.best_epoch > 5
        assert roc_auc_score(Y, outputs[:, 1] - outputs[:, 0]) > 0.9

    def test_training_starts_at_the_frequencies_of_the_classes(self):
        """An almost untrained network of a rare class does not predict one half."""
        y = (np.arange(24) % 6 == 0).astype(int)
        for kind in ("forms", "mlp"):
            model = make(kind, epochs=1, learning_rate=1e-12, validation_fraction=0)
            found = model.fit(CLOUDS, y).predict_proba(CLOUDS)[:, 1].mean()
            assert found == pytest.approx(1 / 6, abs=0.08)

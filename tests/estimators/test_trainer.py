from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

import pointforms as pf
from pointforms.estimators.fits import Fit, Schedule
from pointforms.estimators.targets import ClassTargets, NumberTargets
from pointforms.estimators.trainer import train
from pointforms.nn.field_store import FieldStore
from pointforms.nn.network import PointFormNetwork


def setting(readout: str = "tri"):
    task = pf.tasks.load("circles-vs-lines")
    chosen = np.arange(60)
    fields = pf.gram_fields([task.clouds[i][:40] for i in chosen], dimension=1)
    store = FieldStore(fields, dtype=torch.float64)
    targets = torch.from_numpy(task.labels[chosen])

    def make_model(fit: Fit):
        torch.manual_seed(fit.seed)
        model = PointFormNetwork(2, 2, readout=readout, forms=4, hidden=(16,), head=8).double()
        model.standardize(*store.moments(fit.train), store.origin)
        return model

    loss = lambda out, y: functional.cross_entropy(out, y, reduction="none")  # noqa: E731
    rng = np.random.default_rng(0)
    fits = []
    for seed in range(4):
        order = rng.permutation(60)
        size = (45, 41, 45, 20)[seed]  # other sizes of steps, and another number of them
        weights = rng.uniform(0.1, 3, size) if seed in (1, 2) else None
        fits.append(Fit(order[:size], order[45:], seed, 1e-3 * (seed + 1), weights=weights))
    return make_model, store, targets, loss, fits


@pytest.mark.parametrize(
    ("readout", "points"), [("tri", None), ("tri", 15), ("pool", None), ("gram", None)]
)
def test_together_equals_one_at_a_time(readout, points):
    """Fits of several sizes, seeds, learning rates and weights, step for step."""
    arguments = setting(readout)
    schedule = Schedule(epochs=4, batch_size=16, patience=10, points=points)
    together = train(*arguments, schedule, together=True)
    alone = train(*arguments, schedule, together=False)
    for a, b in zip(together, alone, strict=True):
        for x, y in zip(a.history, b.history, strict=True):
            assert x["train"] == pytest.approx(y["train"], rel=1e-9)
            assert x["validation"] == pytest.approx(y["validation"], rel=1e-9)
        for name, value in a.model.state_dict().items():
            torch.testing.assert_close(value, b.model.state_dict()[name], rtol=1e-8, atol=1e-10)


def test_parts_of_a_batch_change_nothing_but_rounding():
    """Batches in four parts, each padded to its own largest cloud, against whole ones."""
    make_model, _, targets, loss, fits = setting()
    sizes = np.random.default_rng(0).integers(5, 41, 60)
    task = pf.tasks.load("circles-vs-lines")
    fields = pf.gram_fields([task.clouds[i][:n] for i, n in enumerate(sizes)], dimension=1)
    in_parts, whole = (FieldStore(fields, dtype=torch.float64) for _ in range(2))
    assert in_parts.parts > 1
    whole.parts = 1
    schedule = Schedule(epochs=3, batch_size=16, patience=10)
    for together in (True, False):
        a, b = (
            train(make_model, one, targets, loss, fits, schedule, together=together)
            for one in (in_parts, whole)
        )
        for x, y in zip(a, b, strict=True):
            for name, value in x.model.state_dict().items():
                torch.testing.assert_close(value, y.model.state_dict()[name], rtol=1e-7, atol=1e-9)


def test_updates_are_those_of_adamw():
    """The vectorised optimiser against torch's, on the same batches."""
    make_model, store, targets, loss, fits = setting()
    fit = Fit(fits[0].train[:16], fits[0].validation, 0, 1e-2, 0.1)
    schedule = Schedule(epochs=3, batch_size=16, patience=10)
    ours = train(make_model, store, targets, loss, [fit], schedule)[0]
    model = make_model(fit)
    matrices = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim < 2]  # biases and gains do not decay
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    )
    rng = np.random.default_rng([0, 7])
    losses = []
    for epoch in range(3):
        for group in optimizer.param_groups:
            group["lr"] = 1e-2 * 0.5 * (1 + np.cos(np.pi * epoch / 3))
        index = torch.from_numpy(rng.permutation(fit.train))
        value = loss(model(store.gather(index)), targets[index]).mean()
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(float(value.detach()))
    assert [h["train"] for h in ours.history] == pytest.approx(losses, rel=1e-9)


def test_early_stopping_keeps_the_best_epoch():
    make_model, store, targets, loss, fits = setting()
    fit = Fit(fits[0].train, fits[0].validation, 0, learning_rate=0.3)
    fitted = train(make_model, store, targets, loss, [fit], Schedule(40, 16, patience=3))[0]
    scores = [h["validation"] for h in fitted.history]
    assert fitted.best_epoch == int(np.argmin(scores))
    assert len(scores) <= fitted.best_epoch + 4
    with torch.no_grad():
        index = torch.from_numpy(fit.validation)
        value = float(loss(fitted.model(store.gather(index)), targets[index]).mean())
    assert value == pytest.approx(min(scores), rel=1e-9)


class TestEnd:
    """What ends training, given the training losses of all epochs and the best epoch."""

    def test_patience_counts_epochs_since_the_best(self):
        schedule = Schedule(patience=20)
        assert not schedule.ends([0.4] * 23, best_epoch=3)
        assert schedule.ends([0.4] * 24, best_epoch=3)

    def test_several_parts_need_less(self):
        assert not Schedule(patience=20).ends([0.4] * 9, 0, parts=5)
        assert Schedule(patience=20).ends([0.4] * 10, 0, parts=5)

    def test_a_quarter_is_enough_once_the_clouds_are_learned(self):
        schedule = Schedule(patience=20, learned=0.01)
        learned = [0.3, 0.009, 0.008, 0.009, 0.008]
        assert not schedule.ends(learned, best_epoch=0)
        assert schedule.ends([*learned, 0.007], best_epoch=0)
        assert not schedule.ends([*learned, 0.011], best_epoch=0)
        assert not schedule.ends([*learned, 0.007], best_epoch=1)

    @pytest.mark.parametrize(("patience", "parts"), [(8, 1), (20, 5), (20, 10)])
    def test_less_than_five_epochs_are_never_enough(self, patience, parts):
        """With fewer, chance would end training, and no warning would follow a useless one."""
        schedule = Schedule(patience=patience, learned=0.01)
        assert not schedule.ends([0.5] + [0.001] * 4, best_epoch=0, parts=parts)
        assert schedule.ends([0.5] + [0.001] * 5, best_epoch=0, parts=parts)

    def test_numbers_are_never_learned(self):
        assert not Schedule(patience=20).ends([0.3] + [0.0] * 19, best_epoch=0)
        assert NumberTargets.learned == 0 < ClassTargets.learned

    @pytest.mark.parametrize("loss", [0.5, 0.001])
    @pytest.mark.parametrize("patience", [1, 3, 5])
    def test_short_patience_stays_as_it_is(self, patience, loss):
        schedule = Schedule(patience=patience, learned=0.01)
        assert schedule.ends([loss] * (patience + 1), best_epoch=0)
        assert not schedule.ends([loss] * patience, best_epoch=0)


def test_a_classifier_that_has_learned_its_clouds_stops(rng):
    clouds = [rng.normal(size=(20, 2)) * (1 + 99 * (i % 2)) for i in range(200)]
    y = np.arange(200) % 2
    model = pf.PointFormClassifier(random_state=0, scale="isotropic").fit(clouds, y)
    assert model.score(clouds, y) == 1
    training = [losses["train"] for losses in model.history_]
    assert 5 <= len(training) - 1 - model.best_epoch_ < 20
    assert max(training[-5:]) < ClassTargets.learned


def test_part_of_the_points_trains_too():
    make_model, store, targets, loss, fits = setting()
    fitted = train(make_model, store, targets, loss, fits[:2], Schedule(8, 16, 20, points=15))
    for one in fitted:
        assert one.history[-1]["train"] < one.history[0]["train"]


def test_weights_act_on_the_training_loss_alone():
    """One batch: the training loss is Σ w l / Σ w, the validation loss stays the plain mean."""
    make_model, store, targets, loss, fits = setting()
    w = np.random.default_rng(0).uniform(0.1, 3, 45)
    fit = replace(fits[0], weights=w)
    [fitted] = train(make_model, store, targets, loss, [fit], Schedule(3, 45))
    untrained = make_model(fit)
    index = torch.from_numpy(fit.train)
    each = loss(untrained(store.gather(index)), targets[index]).detach().numpy()
    assert fitted.history[0]["train"] == pytest.approx(np.average(each, weights=w), rel=1e-9)
    index = torch.from_numpy(fit.validation)
    plain = loss(fitted.model(store.gather(index)), targets[index]).mean().detach()
    assert fitted.history[fitted.best_epoch]["validation"] == pytest.approx(float(plain), rel=1e-9)


def test_only_the_ratios_of_weights_matter():
    make_model, store, targets, loss, fits = setting()
    w = np.random.default_rng(0).uniform(0.1, 3, 45)
    none, ones, once, thousandfold = (
        train(
            make_model, store, targets, loss, [replace(fits[0], weights=weights)], Schedule(3, 16)
        )[0].history
        for weights in (None, np.full(45, 7.0), w, 1000 * w)
    )
    assert none == ones
    for x, y in zip(once, thousandfold, strict=True):
        assert x == pytest.approx(y, rel=1e-9)
    assert once[-1]["validation"] != pytest.approx(none[-1]["validation"], rel=1e-3)


@pytest.mark.parametrize(("clouds", "size", "steps"), [(33, 32, [16, 17]), (45, 16, [15] * 3)])
def test_the_steps_of_an_epoch_are_of_one_size(clouds, size, steps):
    """No step is left with one cloud, which would weigh as much as a whole batch."""
    _, store, targets, loss, fits = setting()
    seen = []

    class Counting(PointFormNetwork):
        def forward(self, batch, counts=None):
            if self.training:
                assert counts is None  # a fit alone has nothing that fills up its batches
                seen.append(len(batch.points))
            return super().forward(batch, counts)

    fit = Fit(np.arange(clouds), fits[0].validation, 0)
    train(
        lambda fit: Counting(2, 2, hidden=(4,)).double(),
        store, targets, loss, [fit], Schedule(1, size),
    )  # fmt: skip
    assert sorted(seen) == steps

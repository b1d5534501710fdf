from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

import pointforms as pf
from pointforms.estimators.trainer import Fit, Schedule, train
from pointforms.nn.network import PointFormNetwork
from pointforms.nn.stores import FieldStore


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
        size = 45 if seed < 3 else 20  # another number of steps
        fits.append(Fit(order[:size], order[45:], seed, learning_rate=1e-3 * (seed + 1)))
    return make_model, store, targets, loss, fits


@pytest.mark.parametrize("readout", ["tri", "pool", "gram"])
def test_together_equals_one_at_a_time(readout):
    """Fits of several shapes, seeds and learning rates, step for step."""
    arguments = setting(readout)
    schedule = Schedule(epochs=4, batch_size=16, patience=10)
    together = train(*arguments, schedule, together=True)
    alone = train(*arguments, schedule, together=False)
    for a, b in zip(together, alone, strict=True):
        for x, y in zip(a.history, b.history, strict=True):
            assert x["train"] == pytest.approx(y["train"], rel=1e-9)
            assert x["validation"] == pytest.approx(y["validation"], rel=1e-9)
        for name, value in a.model.state_dict().items():
            torch.testing.assert_close(value, b.model.state_dict()[name], rtol=1e-8, atol=1e-10)


def test_updates_are_those_of_adamw():
    """The vectorised optimiser against torch's, on the same batches."""
    make_model, store, targets, loss, fits = setting()
    fit = Fit(fits[0].train[:16], fits[0].validation, 0, 1e-2, 0.1)
    schedule = Schedule(epochs=3, batch_size=16, patience=10)
    ours = train(make_model, store, targets, loss, [fit], schedule)[0]
    model = make_model(fit)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
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


def test_part_of_the_points_trains_too():
    make_model, store, targets, loss, fits = setting()
    fitted = train(make_model, store, targets, loss, fits[:2], Schedule(8, 16, 20, points=15))
    for one in fitted:
        assert one.history[-1]["train"] < one.history[0]["train"]

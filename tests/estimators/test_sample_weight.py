"""Weights of clouds: ratios matter, zero leaves out, whole numbers are copies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.every_estimator import CLOUDS, GROUPS, each_kind
from tests.helpers.tiny_estimators import CLASSIFIERS, answers, make_quick, targets, tiny

from pointforms.estimators.fits import Fit
from pointforms.estimators.training_run import Run
from pointforms.models.heads import FIT_HEAD, logistic


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    make_quick(monkeypatch)


@each_kind
def test_equal_weights_are_no_weights(name):
    y = targets(name)
    plain = answers(tiny(name).fit(CLOUDS, y, GROUPS), CLOUDS)
    for weight in (1, 0.3):
        weighted = tiny(name).fit(CLOUDS, y, GROUPS, np.full(16, weight))
        np.testing.assert_array_equal(answers(weighted, CLOUDS), plain)


@each_kind
def test_only_ratios_matter(name):
    y, weights = targets(name), np.linspace(1, 4, 16)
    once, again = (
        answers(tiny(name).fit(CLOUDS, y, GROUPS, scale * weights), CLOUDS) for scale in (1, 1024)
    )
    np.testing.assert_array_equal(once, again)


@each_kind
def test_a_cloud_of_weight_zero_is_left_out(name, rng):
    """Neither its points nor its label matter."""
    y, weights = targets(name).copy(), np.ones(16)
    weights[[2, 5]] = 0
    kept = np.flatnonzero(weights)
    # an estimated dimension is that of all clouds that are passed; here it is given
    fewer = tiny(name).fit([CLOUDS[i] for i in kept], y[kept], GROUPS[kept])
    clouds = [cloud if w else 100 * cloud for cloud, w in zip(CLOUDS, weights, strict=True)]
    if name in CLASSIFIERS:
        y[2] = 1 - y[2]
    elif name == "PointFormRegressor":
        y[2] = 1e6
    model = tiny(name).fit(clouds, y, GROUPS, weights)
    np.testing.assert_allclose(answers(model, CLOUDS), answers(fewer, CLOUDS), rtol=1e-5)


@pytest.mark.parametrize("head", ["logistic", "svm"])
@pytest.mark.parametrize("wide", [False, True])
def test_whole_weights_are_copies_to_linear_and_kernel_heads(head, wide, rng, monkeypatch):
    """The choice of the penalty included, where copies of a cloud stay in its fold."""
    monkeypatch.setattr(logistic, "_C", np.logspace(-4, 2, 7))
    X, y = rng.normal(size=(12, 30 if wide else 4)), np.arange(12) % 2
    X[:, 0] += y
    weights = rng.integers(1, 4, size=12)
    copies = np.repeat(np.arange(12), weights)
    folds = [(np.arange(6), np.arange(6, 12)), (np.arange(6, 12), np.arange(6))]
    copied = [tuple(np.flatnonzero(np.isin(copies, part)) for part in fold) for fold in folds]
    fit = FIT_HEAD[head]
    model, chosen, loss, inner = fit(X, y, folds, 0, weights.astype(float))
    other, same, value, of_copies = fit(X[copies], y[copies], copied, 0)
    assert chosen == pytest.approx(same)
    assert loss == pytest.approx(value, rel=1e-3)
    np.testing.assert_allclose(inner[copies], of_copies, atol=2e-3)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=2e-3)


def test_clouds_of_weight_0_do_not_choose_the_dimension(rng):
    flat = [np.c_[cloud[:, :1], np.zeros((len(cloud), 2))] for cloud in CLOUDS]
    y = targets("PointFormClassifier")
    model = tiny("PointFormClassifier", dimension=None)
    expected = answers(model.fit(flat, y), flat)
    assert model.dimension_ == 1
    full = [rng.normal(size=(20, 3)) for _ in range(32)]
    weights = np.r_[np.ones(16), np.zeros(32)]
    model.fit([*flat, *full], np.r_[y, y, y], sample_weight=weights)
    assert model.dimension_ == 1
    np.testing.assert_array_equal(answers(model, flat), expected)


def test_weights_multiply_class_weights():
    from pointforms.estimators.targets import ClassTargets

    targets = ClassTargets.of(["a", "b", "b"], 3, {"b": 5.0}, [1.0, 1.0, 4.0])
    np.testing.assert_allclose(targets.weights(np.arange(3)), [0.5, 2.5, 10.0])


def test_the_gradient_of_a_network_is_that_of_the_weighted_loss(monkeypatch):
    """The weights of fit arrive at the trainer."""
    seen: list[Fit] = []

    class Spy(Run):
        def __init__(self, make_model, store, targets, loss, fits, schedule):
            seen.extend(fits)
            super().__init__(make_model, store, targets, loss, fits, schedule)

    monkeypatch.setattr("pointforms.estimators.trainer.Run", Spy)
    monkeypatch.setattr("pointforms.estimators.ensemble.Run", Spy)
    weights = np.linspace(0, 3, 16)
    for name in ("PointFormClassifier", "PointFormRegressor", "PointFormTransformer", "mlp"):
        for fraction, networks in ((0.15, 6), (0, 1)):
            seen.clear()
            model = tiny(name, validation_fraction=fraction)
            model.fit(CLOUDS, targets(name), GROUPS, weights)
            assert len(seen) == networks
            for fit in seen:  # the first cloud, of weight 0, is left out
                ratios = fit.weights / weights[1:][fit.train]
                np.testing.assert_allclose(ratios, ratios[0])

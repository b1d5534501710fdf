"""The warning about fits that never predicted their validation clouds better than guessing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from tests.helpers.small_fits import SMALL

import pointforms as pf
from pointforms.bench import fitting
from pointforms.bench.fitting import fit_unit, prepare
from pointforms.bench.records import Row, Unit
from pointforms.estimators import convergence, cross_fit
from pointforms.estimators.convergence import never_improved, warn_if_never_improved
from pointforms.estimators.fits import Fit, Fitted
from pointforms.estimators.targets import ClassTargets, NumberTargets

OPTIONS = SMALL | {"epochs": 20, "patience": 8, "neighbors": 32, "dimension": "local-pca"}


@pytest.fixture(scope="module")
def twins():
    """Pairs of clouds at one place, of either class: a place says the label of the other twin."""
    rng = np.random.default_rng(0)
    places = np.repeat(rng.normal(size=(40, 3)) * 10, 2, axis=0)
    clouds = [place + rng.normal(size=(8, 3)) for place in places]
    return clouds, np.tile([0, 1], 40), np.repeat(np.arange(40), 2)


def fitted(validation: list[float], guess: float, stopped: bool = False) -> Fitted:
    history = [{"train": 0.1, "validation": loss} for loss in validation]
    return Fitted(torch.nn.Identity(), int(np.argmin(validation)), history, guess, stopped)


def test_a_fit_has_never_improved_if_guessing_is_as_good():
    assert never_improved(fitted([0.7] + [0.8] * 9, guess=0.69))
    assert not never_improved(fitted([0.68] + [0.8] * 9, guess=0.69))
    # as long as validation still improves, or has just begun, training may only be short
    assert not never_improved(fitted([0.9, 0.8, 0.75, 0.7], guess=0.69))
    assert not never_improved(fitted(list(np.linspace(2, 1, 30)), guess=0.69))
    # the loss of several parts varies less, and fewer epochs show that it does not improve
    assert never_improved(fitted([0.7] + [0.8] * 4, guess=0.69, stopped=True))
    assert not never_improved(fitted([0.7] + [0.8] * 4, guess=0.69))
    assert not never_improved(fitted([0.68] + [0.8] * 4, guess=0.69, stopped=True))
    assert not never_improved(Fitted(torch.nn.Identity(), 0))  # random forms


@pytest.mark.parametrize("weights", [None, np.array([1.0, 1.0, 1.0, 3.0])])
def test_guessing_is_the_best_constant_prediction(weights):
    """Class frequencies for labels, the mean for numbers, both as the training loss weighs them."""
    fit = Fit(np.arange(4), np.arange(4, 7), 0, weights=weights)
    y = np.array([0, 0, 0, 1, 1, 0, 1])
    share = 0.25 if weights is None else 0.5
    expected = log_loss(y[4:], np.full(3, share))
    assert ClassTargets.of(y, 7).guess_loss(fit) == pytest.approx(expected)
    numbers = NumberTargets.of(y.astype(float), 7)
    mean = np.average(numbers.values[:4], axis=0, weights=weights)
    assert numbers.guess_loss(fit) == pytest.approx(np.square(numbers.values[4:] - mean).mean())


def test_related_clouds_on_both_sides_of_the_split_are_reported(twins):
    clouds, y, groups = twins
    message = "no epoch predicted the validation clouds better than guessing.*no groups were given"
    with pytest.warns(ConvergenceWarning, match=message):
        pf.PointFormClassifier(**OPTIONS).fit(clouds, y)
    with pytest.warns(ConvergenceWarning, match=message):
        pf.models.make("mlp", epochs=20, patience=8, random_state=0).fit(clouds, y)
    with pytest.warns(ConvergenceWarning, match=r"\(\d of 2 fits; .*no groups") as caught:
        cross_fit(pf.PointFormClassifier(**OPTIONS), clouds, y, groups % 2)
    assert sum(one.category is ConvergenceWarning for one in caught) == 1


def test_with_groups_they_are_not_named_as_the_reason():
    bad = fitted([0.7] + [0.8] * 9, guess=0.69)
    with pytest.warns(ConvergenceWarning, match="Likely reasons: too few validation clouds"):
        warn_if_never_improved([bad], grouped=True)


def test_a_sweep_says_so_once_per_model_and_task(monkeypatch):
    monkeypatch.setattr(convergence, "_SETTLED", 0)
    monkeypatch.setattr(ClassTargets, "guess_loss", lambda *_: 0.0)
    monkeypatch.setattr(fitting, "_warned", set())
    row = Row("circles-vs-lines", "npf-tri-1", {"epochs": 1, "forms": 2}, 40, 16)
    unit = Unit(row, tuple((fold, seed) for fold in range(3) for seed in range(2)))
    prepared = prepare(unit)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            records = fit_unit(unit, prepared)
    assert [record.error for record in records] == [None] * 6
    texts = [str(one.message) for one in caught if one.category is ConvergenceWarning]
    assert len(texts) == 1
    assert texts[0].startswith("npf-tri-1 on circles-vs-lines: no epoch predicted")
    assert "6 of 6 fits" in texts[0]


def test_ordinary_fits_are_silent(data):
    clouds, y, groups, *_ = data
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        pf.PointFormClassifier(**OPTIONS).fit(clouds, y, groups)
        pf.PointFormRegressor(**OPTIONS).fit(clouds, [abs(cloud).max() for cloud in clouds])
        pf.PointFormTransformer(**(OPTIONS | {"epochs": 0})).fit(clouds)

"""The one training recipe: the same network from `fit`, from many parts, and from a stored fit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from tests.helpers.small_fits import SMALL

import pointforms as pf
from pointforms.bench.page.explaining import refit
from pointforms.bench.records import Record, Row
from pointforms.estimators import cross_fit
from pointforms.estimators.plans import Recipe
from pointforms.estimators.prediction import class_probabilities
from pointforms.estimators.targets import ClassTargets

QUICK = SMALL | {"epochs": 3}


@pytest.mark.parametrize(
    "options",
    [
        {"class_weight": None},
        {"class_weight": "balanced"},
        {"validation_fraction": 0.4},  # large enough for a network on its own
        {"members": 2, "weight_decay": "auto", "frame": "cloud", "scale": None},
    ],
)
def test_fit_is_the_recipe_for_all_clouds(options, data):
    clouds, y, groups, *_ = data
    clf = pf.PointFormClassifier(**(QUICK | options)).fit(clouds, y, groups)
    other = pf.PointFormClassifier(**(QUICK | options))
    other.adapt(clouds)
    store = other.make_store(other.prepare(clouds))
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    parts = [(np.arange(60), seed)]
    targets = ClassTargets.of(y, 60, other.class_weight)
    [trained] = other.train_networks(store, targets, parts, groups)
    assert trained.history == clf.history_
    for name, value in trained.model.state_dict().items():
        assert torch.equal(value, clf.model_.state_dict()[name]), name


def test_the_validation_loss_is_the_same_for_all_class_weights(data):
    """It is the log loss of the probabilities, so that selection compares the same thing."""
    clouds, y, groups, *_ = data
    options = QUICK | {"class_weight": {y[0]: 20.0}, "validation_fraction": 0.4}
    clf = pf.PointFormClassifier(**options).fit(clouds, y, groups)
    targets = ClassTargets.of(y, 60)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    held_back = Recipe(1, 0.4, 1e-2, [1e-3]).single(np.arange(60), targets, groups, seed).validation
    probabilities = clf.predict_proba([clouds[i] for i in held_back])
    expected = log_loss(targets.values[held_back], probabilities)
    assert clf.history_[clf.best_epoch_]["validation"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": None},
        {"scale": "robust", "frame": "both", "members": 2},
        {"scale": None, "frame": "cloud"},
        {"scale": None, "components": 1},
    ],
)
def test_cross_fit_and_the_recipe_agree(options, data):
    """Units and geometry are those of the training clouds, and act on the forms as in `fit`."""
    clouds, y, groups, *_ = data
    folds = np.arange(60) % 2
    clf = pf.PointFormClassifier(**QUICK, **options)
    result = cross_fit(clf, clouds, y, folds, (3,), groups, together=False)
    training = np.flatnonzero(folds != 1)
    clf.adapt([clouds[i] for i in training])
    store = clf.make_store(clf.prepare(clouds))
    parts = [(training, 3)]
    [trained] = clf.train_networks(store, ClassTargets.of(y, 60), parts, groups)
    test = folds == 1
    probabilities = class_probabilities(trained.model, store)[test]
    np.testing.assert_array_equal(result.probabilities[0, test], probabilities)


def test_a_stored_fit_made_again_is_a_fitted_estimator():
    options = {"epochs": 2, "hidden": [8], "forms": 3}
    record = Record(Row("circles-vs-lines", "npf-tri-1", options, 40, 24), fold=1, seed=4)
    again = refit(record)
    task, model = again.task, again.estimator
    direct = cross_fit(model, task.clouds, task.labels, task.folds, (4,), task.groups)
    unseen = task.folds == 1
    np.testing.assert_array_equal(again.unseen, unseen)
    np.testing.assert_allclose(
        model.predict_proba(task.clouds)[unseen], direct.probabilities[0, unseen], atol=1e-6
    )
    assert again.auroc == pytest.approx(direct.auroc[1, 0])
    assert (model.classes_.tolist(), model.n_features_in_) == ([0, 1], 2)

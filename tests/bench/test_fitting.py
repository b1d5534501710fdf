"""Fits: the same alone and together, on the same folds for every model, with correct scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from pointforms import tasks
from pointforms.bench import fitting
from pointforms.bench.fitting import fit_unit, preparation, prepare
from pointforms.bench.records import Row, Unit
from pointforms.estimators import network_estimator, plans
from pointforms.estimators.fits import Fit

TASK = "circles-vs-lines"
QUICK = {"epochs": 2, "hidden": [8], "forms": 3}


def row(model="npf-tri-1", clouds=40, points=24, task=TASK, **options):
    return Row(task, model, options, clouds, points)


@pytest.fixture(scope="module")
def forms():
    return prepare(alone(row()))


@pytest.fixture(scope="module")
def points():
    return prepare(alone(row("mlp")))


@pytest.fixture(scope="module")
def clouds():
    return prepare(alone(row("logistic-regression")))


def alone(of):
    """The unit of a row's first fit."""
    return Unit(of, ((0, 0),))


def one(unit_row, prepared, fold=0, seed=0):
    (record,) = fit_unit(Unit(unit_row, ((fold, seed),)), prepared)
    assert record.error is None, record.error
    return record


def test_fits_trained_together_equal_fits_alone():
    wanted = row(**QUICK, dtype="float64")
    prepared = prepare(alone(wanted))
    fits = ((0, 0), (0, 1), (3, 1))
    together = fit_unit(Unit(wanted, fits), prepared)
    assert [(r.fold, r.seed, r.error) for r in together] == [(*fit, None) for fit in fits]
    for record, fit in zip(together, fits, strict=True):
        single = one(wanted, prepared, *fit)
        np.testing.assert_allclose(record.probabilities, single.probabilities, atol=1e-9)
        assert record.validation_loss == pytest.approx(single.validation_loss, abs=1e-9)
        assert (record.epochs, record.parameters) == (single.epochs, single.parameters)
    assert not np.allclose(together[0].probabilities, together[1].probabilities)


def test_a_fit_again_is_the_same_to_the_bit(forms, clouds):
    for wanted, prepared in ((row(**QUICK), forms), (row("random-forest"), clouds)):
        first, second = one(wanted, prepared, 1, 2), one(wanted, prepared, 1, 2)
        np.testing.assert_array_equal(first.probabilities, second.probabilities)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (row("npf-tri-1", epochs=3), row("npf-flat-1", epochs=9, hidden=[4], head=2)),
        (row("npf-tri-2", learning_rate=1e-2), row("npf-diag-2", weight_decay=0.1, forms=16)),
        (row("gcn"), row("graphsage")),
        (row("gcn", neighbors=8), row("gin")),
        (row("mlp", patience=3), row("set-transformer")),
        (row("npf-tri-1", members=3), row("npf-tri-1", weight_decay="auto")),
        (row("svm"), row("random-forest")),
    ],
)
def test_rows_that_read_the_same_share_a_preparation(first, second):
    assert preparation(alone(first)) == preparation(alone(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (row(), row(bandwidth_policy="fixed")),
        (row(), row(measure="volume-normalized")),
        (row(), row("npf-tri-2")),  # other compounds
        (row(), row(dtype="float64")),
        (row(), row(neighbors=8)),
        (row(), row(scale="standard")),
        (row(scale="standard"), row(scale="robust")),
        (row(), row(frame="cloud")),
        (row(), row(components=1)),
        (row(), row(clouds=60)),
        (row(), row(points=32)),
        (row(), row(task="colocated")),
        (row(), replace(row(), task_seed=1)),
        (row("pointnet++"), row("point-transformer")),
        (row("gcn"), row("tdl")),
        (row("gcn"), row("gin")),  # which has fewer neighbours
        (row("gcn"), row("gcn", neighbors=4)),
        (row("mlp"), row("gcn")),
        (row("hodge"), row("random-forms")),
        (row("hodge"), row("hodge", measure="volume")),
        (row("svm"), row("hodge")),
    ],
)
def test_rows_that_read_otherwise_do_not(first, second):
    assert preparation(alone(first)) != preparation(alone(second))


def test_every_model_sees_the_same_folds_and_validation_parts(monkeypatch):
    """Of 40 clouds a part for validation, large enough that others need not choose the epoch."""
    task = tasks.load(TASK, 0, 40, 24)
    monkeypatch.setattr(plans, "_FEW", 2)
    seen: dict[str, list[Fit]] = {}

    def look(make_model, store, targets, loss, fits, *_, **__):
        seen[model] = fits
        raise StopIteration

    monkeypatch.setattr(network_estimator, "train", look)
    chosen = ((0, 0), (0, 1), (4, 0))
    models = ("npf-tri-1", "npf-pool-2", "mlp", "gcn", "pointnet++", "tdl")
    for model in models:
        wanted = row(model, neighbors=4)
        fit_unit(Unit(wanted, chosen), prepare(alone(wanted)))
    assert set(seen) == set(models)
    usual = seen.pop("mlp")
    for (fold, seed), fit in zip(chosen, usual, strict=True):
        both = np.concatenate([fit.train, fit.validation])
        np.testing.assert_array_equal(np.sort(both), np.flatnonzero(task.folds != fold))
        assert not set(task.groups[fit.train]) & set(task.groups[fit.validation])
        assert fit.seed == seed
    assert not np.array_equal(usual[0].validation, usual[1].validation)
    for fits in seen.values():
        for ours, theirs in zip(fits, usual, strict=True):
            np.testing.assert_array_equal(ours.train, theirs.train)
            np.testing.assert_array_equal(ours.validation, theirs.validation)


def test_what_is_tested_is_the_fold(forms, points, clouds):
    task = tasks.load(TASK, 0, 40, 24)
    for model, prepared in (("npf-tri-1", forms), ("mlp", points), ("logistic-regression", clouds)):
        wanted = row(model) if model.startswith("log") else row(model, epochs=1)
        record = one(wanted, prepared, 2)
        np.testing.assert_array_equal(record.clouds, np.flatnonzero(task.folds == 2))
        assert record.probabilities.shape == (record.test_size, 2)
        assert record.train_size + record.test_size == 40


@pytest.mark.parametrize("model", ["mlp", "logistic-regression"])
def test_scores_are_those_of_the_predictions(model, points, clouds):
    network = model == "mlp"
    record = one(row(model, **({"epochs": 2} if network else {})), points if network else clouds)
    y, p = points.labels[record.clouds], record.probabilities
    np.testing.assert_allclose(p.sum(1), 1)
    assert record.auroc == pytest.approx(roc_auc_score(y, p[:, 1]))
    assert record.accuracy == pytest.approx((p.argmax(1) == y).mean())
    assert record.log_loss == pytest.approx(log_loss(y, p))
    assert record.brier == pytest.approx(2 * ((p[:, 1] - y) ** 2).mean())
    assert record.validation_loss > 0
    assert record.seconds > 0
    assert record.memory > 10 << 20  # Python alone takes more
    assert (record.epochs, record.parameters is None) == ((2, False) if network else (None, True))
    assert record.version


@pytest.mark.parametrize("model", ["mlp", "logistic-regression", "random-forest"])
def test_a_class_may_be_absent_from_the_training_clouds(model, points, clouds):
    prepared = points if model == "mlp" else clouds
    labels = prepared.labels.copy()
    labels[np.flatnonzero(prepared.folds == 0)[::3]] = 2
    labels[labels == 1] = 3  # so that the absent one is in the middle
    prepared = replace(prepared, labels=labels, classes=4)
    record = one(row(model, **({"epochs": 1} if model == "mlp" else {})), prepared)
    assert record.probabilities.shape[1] == 4
    np.testing.assert_allclose(record.probabilities.sum(1), 1)
    assert np.isfinite([record.auroc, record.accuracy, record.log_loss, record.brier]).all()
    if model != "mlp":
        assert (record.probabilities[:, 1:3] == 0).all()


def test_a_fit_that_raises_is_a_record_of_it(forms):
    unit = Unit(row(**QUICK, learning_rate=1e30), ((0, 0), (0, 1)))
    records = fit_unit(unit, forms)
    assert [(r.fold, r.seed) for r in records] == [(0, 0), (0, 1)]
    for record in records:
        assert record.error.startswith("Traceback")
        assert "training diverged" in record.error
        assert np.isnan(record.auroc)
        assert record.probabilities is None
        assert record.version
    nothing = Unit(row("npf-tri-1", epochs=0), ((0, 0),))
    assert "epochs" in fit_unit(nothing, forms)[0].error


def test_gram_fields_are_cached_for_other_preparations(tmp_path):
    prepare(alone(row()), tmp_path)
    made = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()}
    assert len(made) >= 40
    prepare(alone(row(measure="volume")), tmp_path)
    assert made == {f: f.stat().st_mtime_ns for f in tmp_path.rglob("*") if f.is_file()}
    prepare(alone(row("hodge")), tmp_path)
    prepare(alone(row("mlp")), tmp_path)  # has no cache


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("npf-tri-1", QUICK),
        ("hodge", {"spectra": False, "degrees": [1], "max_features": 30}),
    ],
)
def test_test_clouds_do_not_set_the_dimension(model, options, monkeypatch):
    """A cloud of the test fold is predicted alike, whatever the others of that fold are."""
    task = tasks.load(TASK, clouds=40, points=24)
    tested = np.count_nonzero(task.folds == 0)
    noise = np.random.default_rng(0)
    with_blobs = replace(
        task,
        clouds=[*task.clouds, *(noise.normal(size=(24, 2)) for _ in range(60))],
        labels=np.append(task.labels, np.arange(60) % 2),
        groups=np.append(task.groups, 1000 + np.arange(60)),
        folds=np.append(task.folds, np.zeros(60, dtype=int)),
        split=None,
    )
    wanted = row(model, **options)
    first = []
    for seen in (task, with_blobs):
        monkeypatch.setattr(fitting, "load_clouds", lambda _, seen=seen: (seen, seen.clouds))
        prepared = prepare(alone(wanted))
        first.append(one(wanted, prepared).probabilities[:tested])
    np.testing.assert_allclose(*first, rtol=1e-5, atol=1e-6)

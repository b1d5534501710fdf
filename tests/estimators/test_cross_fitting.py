from __future__ import annotations

import numpy as np
import pytest
import torch
from joblib import parallel_config
from scipy.stats import t
from tests.helpers.small_fits import SMALL

import pointforms as pf
from pointforms.estimators import cross_fit


@pytest.fixture(scope="module")
def task():
    return pf.tasks.load("circles-vs-lines")


def run(task, **options):
    chosen = slice(0, 80)
    estimator = pf.PointFormClassifier(epochs=3, hidden=(8,), forms=3, dtype="float64")
    return cross_fit(
        estimator,
        [cloud[:32] for cloud in task.clouds[chosen]],
        task.labels[chosen],
        task.folds[chosen] % 2,
        (0, 1),
        task.groups[chosen],
        **options,
    )


def test_neither_stacking_nor_workers_change_the_outcome(task):
    alone = run(task, together=False)
    together = run(task, together=True)
    threads = torch.get_num_threads()
    in_threads = run(task, n_jobs=2)
    assert torch.get_num_threads() == threads
    with parallel_config(backend="loky"):
        in_processes = run(task, n_jobs=2)
    assert alone.probabilities.shape == (2, 80, 2)
    assert alone.auroc.shape == (2, 2)
    assert len(alone.models) == 4
    for other in (together, in_threads, in_processes):
        np.testing.assert_allclose(other.probabilities, alone.probabilities, atol=1e-8)
    mean, half = alone.summary()
    assert mean == pytest.approx(alone.auroc.mean())
    values = alone.auroc.ravel()
    assert half == pytest.approx(t.ppf(0.975, 3) * values.std(ddof=1) / 2)  # √4


def test_forms_that_are_compared_in_blocks_train_one_by_one(rng):
    clouds = [rng.normal(size=(16, 20)) for _ in range(8)]  # C(20, 2) C(16, 2) is too large
    estimator = pf.PointFormClassifier(degree=2, forms=2, hidden=(4,), epochs=1)
    estimator.adapt(clouds)
    assert not estimator.make_store(estimator.prepare(clouds)).stackable
    result = cross_fit(estimator, clouds, [0, 1] * 4, np.arange(8) // 4, (0, 1), together=True)
    assert result.probabilities.shape == (2, 8, 2)


@pytest.mark.slow
@pytest.mark.parametrize("readout", ["tri", "flat", "gram"])
def test_circles_vs_lines_is_solved(task, readout):
    result = cross_fit(
        pf.PointFormClassifier(readout=readout),
        task.clouds, task.labels, task.folds, (0,), task.groups, n_jobs=2,
    )  # fmt: skip
    assert result.auroc.min() >= 0.999
    assert sum(p.numel() for p in result.models[0].parameters()) <= 68_866


def test_class_weights_are_those_of_the_training_clouds(rng):
    """Folds of differing balance, trained in one part or in two."""
    clouds = [rng.normal(size=(12, 2)) * (1 + 0.2 * (i % 2)) for i in range(30)]
    y = (np.arange(30) % np.where(np.arange(30) < 15, 2, 5) == 0).astype(int)
    clf = pf.PointFormClassifier(
        forms=2, hidden=(8,), epochs=3, neighbors=6, dimension=1, class_weight="balanced"
    )
    folds = (np.arange(30) >= 15).astype(int)
    results = [cross_fit(clf, clouds, y, folds, (0,), n_jobs=jobs).probabilities for jobs in (1, 2)]
    np.testing.assert_allclose(results[0], results[1], atol=1e-5)


@pytest.mark.slow
def test_rna_velocity_is_learned():
    """Logistic regression on the means of the clouds stays below 0.75."""
    task = pf.tasks.load("rna-velocity")
    result = cross_fit(
        pf.PointFormClassifier(), task.clouds, task.labels, task.folds, (0,), task.groups, n_jobs=2
    )
    assert result.auroc.mean() >= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("coefficients", ["dense", "wedge"])
@pytest.mark.parametrize("degree", [2, 3])
def test_high_degrees_train_in_fifty_dimensions(degree, coefficients, rng):
    from benchmarks.speed import peak_bytes

    clouds = [rng.normal(size=(n, 50)) for n in rng.integers(5, 12, 16)]
    clf = pf.PointFormClassifier(
        degree=degree, coefficients=coefficients, epochs=1, dimension=3, random_state=0
    )
    assert peak_bytes(lambda: clf.fit(clouds, np.arange(16) % 2)) < 4e9
    assert np.isfinite(clf.predict_proba(clouds)).all()


def test_the_dimension_is_that_of_the_training_clouds_of_a_fold(data, rng):
    """Test clouds of another dimension leave the networks of their fold as they are."""
    clouds, y, _, more, more_y = data
    blobs = [rng.normal(size=(48, 2)) for _ in range(90)]
    clf = pf.PointFormClassifier(**(SMALL | {"epochs": 2}))

    def networks(test, labels):
        folds = np.repeat([0, 1], [len(clouds), len(test)])
        fitted = cross_fit(clf, [*clouds, *test], [*y, *labels], folds, (0, 1), together=False)
        return fitted.models[2:]  # trained on fold 0

    for a, b in zip(networks(more, more_y), networks(blobs, np.arange(90) % 2), strict=True):
        for name, value in a.state_dict().items():
            assert torch.equal(value, b.state_dict()[name]), name

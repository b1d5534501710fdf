from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pointforms as pf
from pointforms.tasks.rna import Kinetics


def auroc(features: np.ndarray, task) -> float:
    """Of logistic regression, mean over the task's folds."""
    scores = []
    for fold in range(5):
        train, test = task.folds != fold, task.folds == fold
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
        model.fit(features[train], task.labels[train])
        scores.append(roc_auc_score(task.labels[test], model.predict_proba(features[test])[:, 1]))
    return float(np.mean(scores))


@pytest.mark.parametrize("name", pf.tasks.names())
def test_tasks_are_whole(name):
    task = pf.tasks.load(name)
    N = len(task)
    assert task.labels.shape == task.groups.shape == task.folds.shape == task.split.shape == (N,)
    assert len(task.feature_names) == task.clouds[0].shape[1]
    for fold in range(5):
        inside, outside = task.groups[task.folds == fold], task.groups[task.folds != fold]
        assert not set(inside) & set(outside)
        assert task.labels[task.folds == fold].mean() == pytest.approx(0.5, abs=0.05)
    assert np.mean(task.split == "train") == pytest.approx(0.6, abs=0.03)
    again = pf.tasks.load(name)
    for a, b in zip(task.clouds, again.clouds, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(pf.tasks.load(name, seed=1).clouds[0], task.clouds[0])
    assert name in repr(task)


def test_unknown_names():
    with pytest.raises(ValueError, match="no task 'squares': there are circles-vs-lines"):
        pf.tasks.load("squares")


@pytest.mark.parametrize("seed", [0, 1])
def test_circles_vs_lines_is_as_hard_as_it_should_be(seed):
    task = pf.tasks.load("circles-vs-lines", seed)
    means = np.array([cloud.mean(0) for cloud in task.clouds])
    radius = np.array([[np.linalg.norm(cloud, axis=1).mean()] for cloud in task.clouds])
    assert 0.6 < auroc(np.hstack([means, radius]), task) < 0.8


def test_rna_velocity_is_as_hard_as_it_should_be():
    task = pf.tasks.load("rna-velocity")
    means = np.array([cloud.mean(0) for cloud in task.clouds])
    assert 0.6 < auroc(means, task) < 0.75
    sizes = np.array([[len(cloud)] for cloud in task.clouds])
    assert 0.4 < auroc(sizes, task) < 0.6
    first = np.array([cloud[0] - cloud[-1] for cloud in task.clouds])
    assert auroc(first, task) < 0.65  # the order of the points is thrown away
    assert (sizes.min(), sizes.max()) == (5, 40)


@pytest.mark.parametrize("gamma", [0.7, 1.5, 1.5 + 1e-9])
def test_exact_kinetics_equal_an_integrator(gamma):
    rates = Kinetics(np.array([2.0]), np.array([1.5]), np.array([gamma]))
    t = np.linspace(0, 3, 7)
    u, s = rates.solve(np.array([0.3]), np.array([4.0]), t)
    flow = lambda _, y: [2.0 - 1.5 * y[0], 1.5 * y[0] - gamma * y[1]]  # noqa: E731
    found = solve_ivp(flow, (0, 3), [0.3, 4.0], t_eval=t, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(u[:, 0], found.y[0], atol=1e-8)
    np.testing.assert_allclose(s[:, 0], found.y[1], atol=1e-8)

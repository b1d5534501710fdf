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


MADE = [name for name in pf.tasks.names() if name != "japanese-vowels"]

# clouds, smallest and largest size, features
PAPER = {
    "circles-vs-lines": (300, 128, 128, 2),
    "concentric-circles": (300, 128, 128, 2),
    "parallel-lines": (300, 128, 128, 2),
    "colocated": (300, 128, 128, 2),
    "density-check": (300, 128, 128, 2),
    "density-shift": (296, 256, 256, 2),
    "singlecell": (320, 128, 128, 50),
    "rna-velocity": (1000, 5, 40, 50),
    "rna-velocity-quick": (160, 4, 15, 24),
    "japanese-vowels": (640, 7, 29, 12),
}


def means(task) -> np.ndarray:
    return np.array([cloud.mean(0) for cloud in task.clouds])


def test_sizes_are_those_of_the_paper():
    assert list(PAPER) == pf.tasks.names()


@pytest.mark.parametrize("name", list(PAPER))
def test_tasks_are_whole(name):
    task = pf.tasks.load(name)
    N = len(task)
    assert (N, task.sizes.min(), task.sizes.max(), task.clouds[0].shape[1]) == PAPER[name]
    assert task.labels.shape == task.groups.shape == task.folds.shape == task.split.shape == (N,)
    assert len(task.feature_names) == task.clouds[0].shape[1]
    assert sorted(set(task.labels)) == list(range(len(task.class_names)))
    assert set(task.folds) == set(range(5))
    shares = np.bincount(task.labels) / N
    for fold in range(5):
        inside, outside = task.groups[task.folds == fold], task.groups[task.folds != fold]
        assert not set(inside) & set(outside)
        here = np.bincount(task.labels[task.folds == fold], minlength=len(shares))
        np.testing.assert_allclose(here / here.sum(), shares, atol=0.05)
        assert 0.15 < len(inside) / N < 0.25
    again = pf.tasks.load(name)
    for a, b in zip(task.clouds, again.clouds, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(pf.tasks.load(name, seed=1).clouds[0], task.clouds[0])
    assert name in repr(task)


@pytest.mark.parametrize("name", MADE)
def test_three_parts_keep_groups_apart(name):
    task = pf.tasks.load(name)
    for part, share in (("train", 0.6), ("validation", 0.2), ("test", 0.2)):
        assert np.mean(task.split == part) == pytest.approx(share, abs=0.03)
        assert not set(task.groups[task.split == part]) & set(task.groups[task.split != part])


@pytest.mark.parametrize("name", MADE)
def test_sizes_can_be_chosen(name):
    task = pf.tasks.load(name, clouds=30, points=9)
    assert len(task) == 30
    assert task.sizes.max() == 9


@pytest.mark.parametrize("name", MADE)
def test_labels_cannot_be_read_from_sizes_or_order(name):
    for seed in (0, 1):
        task = pf.tasks.load(name, seed)
        assert 0.35 < auroc(task.sizes[:, None].astype(float), task) < 0.65
        ends = np.array([cloud[0] - cloud[-1] for cloud in task.clouds])
        assert 0.35 < auroc(ends, task) < 0.65


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", ["concentric-circles", "parallel-lines", "colocated"])
def test_pairs_share_their_places(name, seed):
    assert 0.4 < auroc(means(pf.tasks.load(name, seed)), pf.tasks.load(name, seed)) < 0.6


@pytest.mark.parametrize("seed", [0, 1])
def test_circles_vs_lines_is_as_hard_as_it_should_be(seed):
    task = pf.tasks.load("circles-vs-lines", seed)
    radius = np.array([[np.linalg.norm(cloud, axis=1).mean()] for cloud in task.clouds])
    assert 0.6 < auroc(np.hstack([means(task), radius]), task) < 0.8


@pytest.mark.parametrize("seed", [0, 1])
def test_rna_velocity_is_as_hard_as_it_should_be(seed):
    task = pf.tasks.load("rna-velocity", seed)
    assert 0.6 < auroc(means(task), task) < 0.75


def test_the_density_of_density_check_is_the_label():
    """|mean| of a von Mises sample is I1(κ) / I0(κ), which grows with κ."""
    task = pf.tasks.load("density-check")
    length = np.linalg.norm(means(task), axis=1)
    assert roc_auc_score(task.labels, length) > 0.95
    for cloud in task.clouds[:20]:
        np.testing.assert_allclose(np.linalg.norm(cloud, axis=1), 1.0)


def test_the_folds_of_density_shift_have_densities_of_their_own():
    task = pf.tasks.load("density-shift")
    assert all(len(set(task.groups[task.folds == fold])) == 1 for fold in range(5))
    # E cos 2(t - m) = a / 2 for the density 1 + a cos 2(t - m): 0 in one fold, 0.475 in another
    strength = {}
    for group in range(5):
        circles = (task.groups == group) & (task.labels == 0)
        values = []
        for i in np.flatnonzero(circles):
            cloud = task.clouds[i] - (task.clouds[i].max(0) + task.clouds[i].min(0)) / 2
            values.append(abs(np.exp(2j * np.arctan2(*cloud.T[::-1])).mean()))
        strength[group] = np.mean(values)
    assert strength[0] < 0.1
    assert strength[4] == pytest.approx(0.475, abs=0.05)


def test_ellipses_are_as_long_as_circles():
    from pointforms.tasks.density import _ellipse

    t = np.linspace(0, 2 * np.pi, 2001)
    for aspect in (1.0, 1.4):
        curve = _ellipse(aspect, 0.3, t)
        steps = np.hypot(*np.diff(curve, axis=0).T)
        assert steps.sum() == pytest.approx(2 * np.pi, rel=1e-4)
        # equal shares of the angle are equal lengths of the curve
        np.testing.assert_allclose(steps, steps.mean(), rtol=0.02)


def test_arcs_and_segments_have_the_same_spread():
    task = pf.tasks.load("colocated", clouds=40, points=4000)
    for arc, segment in zip(task.clouds[::2], task.clouds[1::2], strict=True):
        np.testing.assert_allclose(arc.mean(0), segment.mean(0), atol=0.1)
        widest = [np.linalg.eigvalsh(np.cov(cloud.T))[-1] for cloud in (arc, segment)]
        assert widest[0] == pytest.approx(widest[1], rel=0.1)


def test_japanese_vowels_keep_their_own_split():
    task = pf.tasks.load("japanese-vowels")
    assert np.sum(task.split == "test") == 370
    assert np.sum(task.split == "validation") == pytest.approx(54, abs=9)
    train = task.labels[task.split != "test"]
    np.testing.assert_array_equal(np.bincount(train), 30)  # utterances of each speaker


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "squares"}, "no task 'squares': expected one of 'circles-vs-lines'"),
        ({"name": "colocated", "clouds": 4}, "clouds=4: expected at least 20"),
        ({"name": "colocated", "points": 1}, "points=1: expected at least 2"),
        ({"name": "japanese-vowels", "clouds": 50}, "clouds=50: .* fixed size"),
        ({"name": "colocated", "seed": -1}, "seed=-1"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        pf.tasks.load(**arguments)


@pytest.mark.parametrize("gamma", [0.7, 1.5, 1.5 + 1e-9])
def test_exact_kinetics_equal_an_integrator(gamma):
    rates = Kinetics(np.array([2.0]), np.array([1.5]), np.array([gamma]))
    t = np.linspace(0, 3, 7)
    u, s = rates.solve(np.array([0.3]), np.array([4.0]), t)
    flow = lambda _, y: [2.0 - 1.5 * y[0], 1.5 * y[0] - gamma * y[1]]  # noqa: E731
    found = solve_ivp(flow, (0, 3), [0.3, 4.0], t_eval=t, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(u[:, 0], found.y[0], atol=1e-8)
    np.testing.assert_allclose(s[:, 0], found.y[1], atol=1e-8)

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.helpers.tasks import auroc, means

import pointforms as pf
from pointforms.tasks.rna import Kinetics


@pytest.mark.parametrize("seed", [0, 1])
def test_rna_velocity_is_as_hard_as_it_should_be(seed):
    task = pf.tasks.load("rna-velocity", seed)
    assert 0.6 < auroc(means(task), task) < 0.75


def test_starts_near_the_steady_state_rest_in_the_first_regime():
    """Its clouds stay near u = α/β, s = α/γ; those of the other regime drift away."""
    task = pf.tasks.load("rna-velocity-steady")
    rest = np.mean([cloud.mean(0) for cloud in np.array(task.clouds, object)[task.labels == 0]], 0)
    away = [np.abs(cloud.mean(0) / rest - 1).mean() for cloud in task.clouds]
    wide = pf.tasks.load("rna-velocity")
    far = [np.abs(cloud.mean(0) / rest - 1).mean() for cloud in wide.clouds]
    assert np.median(away) < 0.1 < 0.3 < np.median(far)
    assert auroc(means(task), task) > 0.9  # position is enough, unlike in rna-velocity


@pytest.mark.parametrize("gamma", [0.7, 1.5, 1.5 + 1e-9])
def test_exact_kinetics_equal_an_integrator(gamma):
    rates = Kinetics(np.array([2.0]), np.array([1.5]), np.array([gamma]))
    t = np.linspace(0, 3, 7)
    u, s = rates.solve(np.array([0.3]), np.array([4.0]), t)
    flow = lambda _, y: [2.0 - 1.5 * y[0], 1.5 * y[0] - gamma * y[1]]  # noqa: E731
    found = solve_ivp(flow, (0, 3), [0.3, 4.0], t_eval=t, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(u[:, 0], found.y[0], atol=1e-8)
    np.testing.assert_allclose(s[:, 0], found.y[1], atol=1e-8)

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


@pytest.mark.parametrize("gamma", [0.7, 1.5, 1.5 + 1e-9])
def test_exact_kinetics_equal_an_integrator(gamma):
    rates = Kinetics(np.array([2.0]), np.array([1.5]), np.array([gamma]))
    t = np.linspace(0, 3, 7)
    u, s = rates.solve(np.array([0.3]), np.array([4.0]), t)
    flow = lambda _, y: [2.0 - 1.5 * y[0], 1.5 * y[0] - gamma * y[1]]  # noqa: E731
    found = solve_ivp(flow, (0, 3), [0.3, 4.0], t_eval=t, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(u[:, 0], found.y[0], atol=1e-8)
    np.testing.assert_allclose(s[:, 0], found.y[1], atol=1e-8)

"""Consistency: closed forms of the truth, and errors that fall."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import dblquad

from pointforms.exterior import compound
from pointforms.paper.theory import consistency as rates_of
from pointforms.paper.theory.consistency import CIRCLE, MANIFOLDS, SPHERE, TORUS, Coupling


@pytest.mark.parametrize("degree", [1, 2])
def test_mean_projectors(degree):
    """The closed forms of C* agree with quadrature over each manifold."""

    def mean(manifold, tangent, weight, ranges):
        volume = dblquad(lambda v, u: weight(u, v), *ranges)[0]
        size = len(manifold.diagonals[degree])
        found = np.empty((size, size))
        for i in range(size):
            for j in range(size):

                def entry(v, u, i=i, j=j):
                    T = torch.tensor(tangent(u, v), dtype=torch.float64)
                    return float(compound(T @ T.T, degree)[i, j]) * weight(u, v)

                found[i, j] = dblquad(entry, *ranges, epsabs=1e-5, epsrel=1e-5)[0] / volume
        return found

    sin, cos, turn = math.sin, math.cos, 2 * math.pi
    cases = [
        (CIRCLE, lambda u, v: [[-sin(u)], [cos(u)]], lambda u, v: 1.0, (0, turn, 0, 1)),
        (
            SPHERE,
            lambda u, v: [
                [-sin(u), -sin(v) * cos(u)],
                [cos(u), -sin(v) * sin(u)],
                [0.0, cos(v)],
            ],
            lambda u, v: cos(v),
            (0, turn, -math.pi / 2, math.pi / 2),
        ),
        (
            TORUS,
            lambda u, v: [
                [-sin(u), -sin(v) * cos(u)],
                [cos(u), -sin(v) * sin(u)],
                [0.0, cos(v)],
            ],
            lambda u, v: 2 + cos(v),
            (0, turn, 0, turn),
        ),
    ]
    for manifold, *case in cases:
        truth = manifold.mean_projector(degree).numpy()
        assert mean(manifold, *case) == pytest.approx(truth, abs=1e-4), manifold.name


def test_samples_have_the_mean_projector():
    for manifold in MANIFOLDS:
        sample = manifold.sample(20_000, 0)
        for degree in (1, 2):
            found = compound(sample.projector, degree).mean(0)
            assert (found - manifold.mean_projector(degree)).abs().max() < 0.02


def test_coupling_follows_n():
    coupling = Coupling()
    for d in (1, 2):
        assert coupling.bandwidth(500, d) == coupling.epsilon
        ratio = coupling.bandwidth(4000, d) / coupling.epsilon
        assert math.log(ratio, 8) == pytest.approx(-2 / (d + 12))
        assert coupling.density_list(4000, d) == round(16 * 8 ** (4 / (d + 4)))
    assert Coupling(growth=0.0).density_list(4000, 2) == 16


def test_errors_fall_as_samples_grow():
    rows = rates_of.consistency(range(2), sizes=(500, 1500))
    assert len(rows) == len(MANIFOLDS) * 2 * len(rates_of.ERRORS)
    for row in rows:
        case = (row.manifold, row.degree, row.error)
        assert row.falls or row.error == "largest local", case
        assert row.relative == (case[:2] != ("circle", 2))
        if row.error == "local":  # the bound is a bound
            assert row.slope < row.predicted, case


def test_errors_of_the_truth_are_those_of_the_sample_alone():
    """With Π in place of G the local error is 0, and the global one that of a mean of n points."""
    from dataclasses import replace

    sample = SPHERE.sample(500, 0)
    field = Coupling().field(sample)
    exact = replace(field, factor=sample.projector)  # Π Πᵀ = Π
    for degree in (1, 2):
        errors = rates_of.errors_of(exact, sample, SPHERE, degree)
        assert errors["local"] < 1e-12
        assert errors["global"] < 0.2

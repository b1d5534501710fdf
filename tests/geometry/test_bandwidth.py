from __future__ import annotations

import pytest

import pointforms as pf
from pointforms.manifolds import circle, relative_error


def test_automatic_bandwidth_is_scale_free_and_sensible(rng):
    sample = circle(600, rng)
    X = sample.points
    field = pf.gram_field(X, bandwidth="auto", neighbors=64)
    assert 1 < field.bandwidth < 60  # the widest that still sees a line
    assert relative_error(field, sample) < 0.1
    assert pf.gram_field(1e5 * X, bandwidth="auto", neighbors=64).bandwidth == pytest.approx(
        field.bandwidth, rel=1e-6
    )

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import pointforms as pf
from pointforms.manifolds import sphere


def test_measures(rng):
    field = pf.gram_field(sphere(2000, rng).points)
    assert float(field.measure("uniform").sum()) == pytest.approx(1.0)
    assert float(field.measure("volume-normalized").sum()) == pytest.approx(1.0)
    volume = field.measure("volume")
    torch.testing.assert_close(volume, 1 / (2000 * field.density))
    assert float(volume.sum()) == pytest.approx(4 * np.pi, rel=0.1)
    with pytest.raises(ValueError, match="measure=<NA>: expected one of 'uniform'"):
        field.measure(pd.NA)
    with pytest.raises(ValueError, match="measure='area'"):
        field.measure("area")


def test_what_rank_discards_counts_as_off_tangent(rng):
    X = rng.normal(size=(200, 5))
    full, cut = pf.gram_field(X, dimension=2), pf.gram_field(X, dimension=2, rank=2)
    assert cut.off_tangent_share() == pytest.approx(full.off_tangent_share(), abs=1e-9)
    few = pf.gram_field(rng.normal(size=(3, 10)), dimension=5, spectrum="projector")
    assert float(few.discarded_trace.max()) == 0.0


def test_a_field_can_be_moved(rng):
    field = pf.gram_field(rng.normal(size=(50, 3)))
    single = field.to(dtype=torch.float32)
    assert single.factor.dtype == single.points.dtype == torch.float32
    assert single.dimension == field.dimension
    assert "n=50, D=3" in repr(field)
    assert len(field) == 50

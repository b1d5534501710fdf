from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pointforms as pf


def test_samples_are_drawn_at_their_places(cells, tmp_path):
    samples = pf.tl.distances(cells, cloud="patient", use_rep="X_pca")
    pf.tl.embed(samples)
    samples.obs["new"] = samples.obs["age"] > 48
    figure = pf.pl.samples(samples, color="ill", marked="new", path=tmp_path / "map.png")
    marks, rings = figure.axes[0].collections[:2]
    np.testing.assert_allclose(marks.get_offsets(), samples.obsm["X_pf_pca"])
    assert len(rings.get_offsets()) == 3
    assert len(np.unique(marks.get_facecolors(), axis=0)) == 2
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no column 'il' in obs: did you mean 'ill'"):
        pf.pl.samples(samples, color="il")


@pytest.mark.parametrize("values", [["yes", "no"], [1, 0], [True, None]])
def test_rings_need_true_or_false(values, cells):
    samples = pf.tl.distances(cells, cloud="patient", use_rep="X_pca")
    column = [values[i % 2] for i in range(samples.n_obs)]
    samples.obs["prediction"] = pd.Series(column, index=samples.obs_names)
    with pytest.raises(TypeError, match=r"marked='prediction': .* expected True or False only"):
        pf.pl.samples(samples, marked="prediction")


@pytest.mark.parametrize("dtype", [object, "boolean", "category"])
def test_true_and_false_are_read_from_any_column(dtype, cells):
    samples = pf.tl.distances(cells, cloud="patient", use_rep="X_pca")
    column = [i < 2 for i in range(samples.n_obs)]
    samples.obs["new"] = pd.Series(column, index=samples.obs_names, dtype=dtype)
    rings = pf.pl.samples(samples, marked="new").axes[0].collections[1]
    assert len(rings.get_offsets()) == 2

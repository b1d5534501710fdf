from __future__ import annotations

import numpy as np
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

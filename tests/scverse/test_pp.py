from __future__ import annotations

import numpy as np
import pytest

import pointforms as pf


def test_clouds_are_those_of_the_reader_and_the_choice_is_remembered(cells):
    clouds = pf.pp.clouds(cells, cloud="patient", use_rep="X_pca")
    expected = pf.read_anndata(cells, cloud="patient", use_rep="X_pca")
    assert clouds.points.equal(expected.points)
    assert clouds.loadings is not None
    again = pf.pp.clouds(cells)
    assert again.ids == clouds.ids
    assert again.points.equal(clouds.points)
    assert pf.pp.clouds(cells, use_rep="X").feature_names == ("g0", "g1", "g2", "g3", "g4")
    assert pf.pp.clouds(cells).feature_names[0] == "g0"  # the later choice
    assert pf.pp.clouds(cells, features=["g1", "age"]).feature_names == ("g1", "age")


def test_the_choice_survives_a_file(cells, tmp_path):
    import anndata

    clouds = pf.pp.clouds(cells, cloud="patient", features=["g1", "g3"])
    cells.write_h5ad(tmp_path / "cells.h5ad")
    read = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    assert pf.pp.clouds(read).points.equal(clouds.points)
    assert pf.pp.clouds(read).feature_names == ("g1", "g3")
    from_path = pf.pp.clouds(tmp_path / "cells.h5ad", cloud="patient", use_rep="X_pca")
    assert from_path.points.shape == (240, 3)


def test_what_is_missing_is_named(cells, tmp_path):
    with pytest.raises(ValueError, match="cloud is None: expected the column of obs"):
        pf.pp.clouds(cells)
    with pytest.raises(ValueError, match="no column 'patients' in obs: did you mean 'patient'"):
        pf.pp.samples(cells, cloud="patients")
    assert "pointforms" not in cells.uns  # nothing is remembered after an error
    with pytest.raises(TypeError, match="MuData is not supported yet"):
        pf.pp.clouds(type("MuData", (), {})(), cloud="patient")


def test_samples_have_the_columns_that_do_not_vary(cells):
    cells.obs["response"] = np.where(cells.obs["patient"] == "p3", None, "good")
    samples = pf.pp.samples(cells, cloud="patient")
    assert list(samples.obs.columns) == ["n_cells", "ill", "age", "site", "response"]
    assert list(samples.obs_names) == list(cells.obs["patient"].unique())
    assert samples.obs["n_cells"].tolist() == [20] * 12
    for name, row in samples.obs.iterrows():
        number = int(name[1:])
        assert row["ill"] == ("yes" if number % 2 else "no")
        assert row["age"] == 40 + number
    assert samples.obs["response"].isna().sum() == 1
    assert samples.obs["ill"].dtype == "category"


def test_samples_of_a_file(cells, tmp_path):
    cells.write_h5ad(tmp_path / "cells.h5ad")
    in_memory, on_disk = (
        pf.pp.samples(data, cloud="patient").obs for data in (cells, tmp_path / "cells.h5ad")
    )
    assert in_memory.astype(str).equals(on_disk.astype(str))

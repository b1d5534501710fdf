from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from pointforms.io import read_anndata


def annotated(rng, sparse: bool):
    import anndata

    X = rng.poisson(1.0, size=(9, 4)).astype(np.float32)
    data = anndata.AnnData(
        scipy.sparse.csr_matrix(X) if sparse else X,
        obs=pd.DataFrame({"patient": list("bbaabcbca")}, index=[f"cell{i}" for i in range(9)]),
        var=pd.DataFrame(index=["g0", "g1", "g2", "g3"]),
    )
    data.obsm["X_pca"] = rng.normal(size=(9, 2))
    data.layers["log"] = data.X.multiply(2).tocsr() if sparse else 2 * data.X
    return data, X


@pytest.mark.parametrize("sparse", [False, True])
def test_anndata_groups_cells(rng, sparse, tmp_path):
    data, X = annotated(rng, sparse)
    clouds = read_anndata(data, cloud="patient")
    assert clouds.ids == ("b", "a", "c")
    assert clouds.feature_names == ("g0", "g1", "g2", "g3")
    rows = [0, 1, 4, 6]
    np.testing.assert_array_equal(clouds[0].numpy(), X[rows])
    reduced = read_anndata(data, cloud="patient", use_rep="X_pca")
    assert reduced.feature_names == ("X_pca_0", "X_pca_1")
    np.testing.assert_array_equal(reduced[0].numpy(), data.obsm["X_pca"][rows])
    layered = read_anndata(data, cloud="patient", layer="log")
    np.testing.assert_array_equal(layered[0].numpy(), 2 * X[rows])
    data.write_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(
        read_anndata(tmp_path / "cells.h5ad", "patient")[0].numpy(), X[rows]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cloud": "plate"}, "no column 'plate' in obs: .*'patient'"),
        ({"cloud": "patient", "use_rep": "X_umap"}, "no 'X_umap' in obsm: expected one of 'X_pca'"),
        ({"cloud": "patient", "layer": "raw"}, "no 'raw' in layers"),
        ({"cloud": "patient", "layer": "log", "use_rep": "X_pca"}, "expected one of them"),
    ],
)
def test_missing_parts_of_anndata_are_named(rng, options, message):
    with pytest.raises(ValueError, match=message):
        read_anndata(annotated(rng, False)[0], **options)


def test_backed_and_broken_anndata(rng, tmp_path):
    import anndata

    data, X = annotated(rng, sparse=True)
    data.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    np.testing.assert_array_equal(read_anndata(backed, "patient")[0].numpy(), X[[0, 1, 4, 6]])
    (tmp_path / "broken.h5ad").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"broken\.h5ad"):
        read_anndata(tmp_path / "broken.h5ad", "patient")


@pytest.mark.parametrize("sparse", [False, True])
def test_only_what_is_asked_for_is_read(rng, sparse, tmp_path):
    data, X = annotated(rng, sparse)
    data.obsm["bomb"] = np.zeros((9, 10**4))
    data.uns["bomb"] = np.zeros(10**5)
    file = tmp_path / "cells.h5ad"
    data.write_h5ad(file, compression="gzip")
    rows = [0, 1, 4, 6]
    np.testing.assert_array_equal(read_anndata(file, "patient", max_bytes=999)[0].numpy(), X[rows])
    layered = read_anndata(file, "patient", layer="log", max_bytes=999)
    np.testing.assert_array_equal(layered[0].numpy(), 2 * X[rows])
    assert layered.feature_names == ("g0", "g1", "g2", "g3")
    reduced = read_anndata(file, "patient", use_rep="X_pca", max_bytes=999)
    np.testing.assert_array_equal(reduced[0].numpy(), data.obsm["X_pca"][rows])
    with pytest.raises(
        ValueError, match=r"cells\.h5ad' declares arrays of .*, more than max_bytes"
    ):
        read_anndata(file, "patient", use_rep="bomb", max_bytes=999)
    with pytest.raises(ValueError, match="no 'X_umap' in obsm: expected one of 'X_pca', 'bomb'"):
        read_anndata(file, "patient", use_rep="X_umap")


def test_sparse_cells_count_as_dense_ones(tmp_path):
    import anndata

    empty = scipy.sparse.csr_matrix((9, 10**9), dtype=np.float32)  # 36 GB as an array
    obs = pd.DataFrame({"patient": list("bbaabcbca")}, index=[f"cell{i}" for i in range(9)])
    cells = anndata.AnnData(obs=obs, obsm={"wide": empty})
    with pytest.raises(ValueError, match=r"'AnnData' declares arrays of 33\.53 GiB"):
        read_anndata(cells, "patient", use_rep="wide")
    cells.write_h5ad(tmp_path / "cells.h5ad")
    with pytest.raises(ValueError, match=r"cells\.h5ad' declares arrays of 33\.53 GiB"):
        read_anndata(tmp_path / "cells.h5ad", "patient", use_rep="wide")


@pytest.mark.parametrize("sparse", ["dense", "csr", "csc"])
@pytest.mark.parametrize("way", ["memory", "path", "backed"])
def test_features_are_genes_or_columns_of_obs(rng, sparse, way, tmp_path):
    import anndata

    data, X = annotated(rng, sparse != "dense")
    if sparse == "csc":
        data.X = data.X.tocsc()
    data.obs["size"] = np.arange(9.0)
    data.obs["type"] = list("TTTBBBTTT")
    if way != "memory":
        data.write_h5ad(tmp_path / "cells.h5ad")
        data = tmp_path / "cells.h5ad"
    if way == "backed":
        data = anndata.read_h5ad(data, backed="r")
    rows = [0, 1, 4, 6]
    clouds = read_anndata(data, "patient", features=["g3", "size", "g1"])
    assert clouds.feature_names == ("g3", "size", "g1")
    expected = np.stack([X[:, 3], np.arange(9.0), X[:, 1]], 1)[rows]
    np.testing.assert_array_equal(clouds[0].numpy(), expected)
    only = read_anndata(data, "patient", features=["size"])
    np.testing.assert_array_equal(only[0].numpy(), expected[:, 1:2])
    np.testing.assert_array_equal(read_anndata(data, "patient")[0].numpy(), X[rows])
    with pytest.raises(ValueError, match=r"obs\['type'\] has dtype .*: expected numbers"):
        read_anndata(data, "patient", features=["type"])
    with pytest.raises(ValueError, match=r"no 'sise' among the genes .* did you mean 'size'"):
        read_anndata(data, "patient", features=["sise"])


def test_blocks_of_rows_give_the_same_clouds(rng, monkeypatch):
    data, _ = annotated(rng, sparse=True)
    whole = read_anndata(data, "patient")
    monkeypatch.setattr("pointforms.io.columns._BLOCK", 8)  # two rows
    in_blocks = read_anndata(data, "patient")
    assert whole.points.equal(in_blocks.points)
    assert whole.sizes.equal(in_blocks.sizes)


def test_a_backed_file_is_not_loaded(rng, tmp_path, monkeypatch):
    import anndata

    data, _ = annotated(rng, sparse=True)
    data.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    for name in ("to_memory", "X"):
        monkeypatch.setattr(anndata.AnnData, name, property(lambda self: pytest.fail("X is read")))
    clouds = read_anndata(backed, "patient", use_rep="X_pca")
    np.testing.assert_array_equal(clouds[0].numpy(), data.obsm["X_pca"][[0, 1, 4, 6]])
    assert len(read_anndata(tmp_path / "cells.h5ad", "patient", use_rep="X_pca")) == 3


def test_part_of_a_backed_file(rng, tmp_path):
    import anndata

    data, X = annotated(rng, sparse=True)
    data.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    part = backed[np.array(backed.obs["patient"] != "b")]
    np.testing.assert_array_equal(read_anndata(part, "patient")[0].numpy(), X[[2, 3, 8]])


@pytest.mark.parametrize("way", ["memory", "path"])
def test_loadings_of_any_components(rng, way, tmp_path):
    data, _ = annotated(rng, sparse=False)
    weights = rng.normal(size=(4, 2))
    data.obsm["X_nmf"] = data.obsm["X_other"] = data.obsm["X_pca"]
    data.varm["nmf_loadings"], data.varm["W"], data.varm["narrow"] = (
        weights,
        -weights,
        weights[:, :1],
    )
    if way == "path":
        data.write_h5ad(tmp_path / "cells.h5ad")
        data = tmp_path / "cells.h5ad"
    found = read_anndata(data, "patient", use_rep="X_nmf").loadings
    np.testing.assert_array_equal(found.values, weights.T)
    assert found.component_names == ("X_nmf_0", "X_nmf_1")
    assert found.feature_names == ("g0", "g1", "g2", "g3")
    assert read_anndata(data, "patient", use_rep="X_other").loadings is None
    named = read_anndata(data, "patient", use_rep="X_other", loadings="W").loadings
    np.testing.assert_array_equal(named.values, -weights.T)
    with pytest.raises(ValueError, match=r"varm\['narrow'\] has shape \(4, 1\): .* 2 components"):
        read_anndata(data, "patient", use_rep="X_other", loadings="narrow")
    with pytest.raises(ValueError, match="no 'PCs' in varm"):
        read_anndata(data, "patient", use_rep="X_other", loadings="PCs")
    with pytest.raises(ValueError, match="expected the components"):
        read_anndata(data, "patient", loadings="W")


def test_components_in_a_data_frame_keep_their_names(rng):
    data, _ = annotated(rng, sparse=False)
    frame = pd.DataFrame(rng.normal(size=(9, 2)), index=data.obs_names, columns=["up", "down"])
    data.obsm["scores"] = frame
    clouds = read_anndata(data, "patient", use_rep="scores")
    assert clouds.feature_names == ("up", "down")
    np.testing.assert_array_equal(clouds[0].numpy(), frame.to_numpy()[[0, 1, 4, 6]])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("MuData", r"MuData is not supported yet: pass one modality, such as data.mod\[\"rna\"\]"),
        ("SpatialData", "SpatialData is not supported yet: pass a table"),
        ("DataFrame", "data is a DataFrame: expected AnnData"),
    ],
)
def test_other_containers_are_refused(kind, message):
    with pytest.raises(TypeError, match=message):
        read_anndata(type(kind, (), {})(), "patient")

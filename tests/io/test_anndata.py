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

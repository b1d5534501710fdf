from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import scipy.sparse

from pointforms.clouds import Clouds
from pointforms.io import read_anndata, read_fcs, read_npz, read_table, save_npz


@pytest.fixture
def frame(rng) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sample": ["b", "a", "b", "c", "a", "b"],
            "x": rng.normal(size=6),
            "y": rng.normal(size=6).astype(np.float32),
            "count": np.arange(6),
            "note": list("pqrstu"),
        }
    )


def expected(frame: pd.DataFrame, name: str, columns: list[str]) -> np.ndarray:
    return frame.loc[frame["sample"] == name, columns].to_numpy(dtype=np.float64)


@pytest.mark.parametrize("kind", ["frame", "categorical", "arrow", "parquet", "csv", "tsv"])
def test_tables_split_by_cloud_in_order_of_appearance(frame, kind, tmp_path):
    table = {
        "frame": lambda: frame,
        "categorical": lambda: frame.assign(sample=frame["sample"].astype("category")),
        "arrow": lambda: pa.Table.from_pandas(frame),
        "parquet": lambda: tmp_path / "t.parquet",
        "csv": lambda: str(tmp_path / "t.csv"),
        "tsv": lambda: tmp_path / "t.tsv",
    }[kind]()
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    clouds = read_table(table, cloud="sample")
    assert clouds.ids == ("b", "a", "c")
    assert clouds.feature_names == ("x", "y", "count")
    for cloud, name in zip(clouds, clouds.ids, strict=True):
        np.testing.assert_allclose(
            cloud.numpy(), expected(frame, name, ["x", "y", "count"]), rtol=1e-6
        )


def test_chosen_features_keep_their_order(frame):
    clouds = read_table(frame, "sample", features=["count", "x"])
    assert clouds.feature_names == ("count", "x")
    np.testing.assert_allclose(clouds[0].numpy(), expected(frame, "b", ["count", "x"]))


def test_number_ids_are_not_features(frame):
    clouds = read_table(frame.assign(sample=[7, 3, 7, 5, 3, 7]), "sample")
    assert clouds.ids == ("7", "3", "5")
    assert "sample" not in clouds.feature_names


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        ({}, {"cloud": "plate"}, ValueError, "no column 'plate': there is 'sample', 'x'"),
        ({}, {"cloud": "sample", "features": ["z"]}, ValueError, "no feature column 'z'"),
        ({}, {"cloud": "Sampel"}, ValueError, "did you mean 'sample'"),
        ({}, {"cloud": "sample", "features": ["note"]}, TypeError, "'note' holds"),
        ({"sample": ["b", None, "b", "c", "a", "b"]}, {"cloud": "sample"}, ValueError, "1 of 6"),
        (
            {"x": [0, 1, np.nan, 3, 4, 5]},
            {"cloud": "sample"},
            ValueError,
            "column 'x' has 1 missing or non-finite values: row 2",
        ),
    ],
)
def test_bad_tables_are_described(frame, change, options, error, message):
    with pytest.raises(error, match=message):
        read_table(frame.assign(**change), **options)


def test_an_index_is_not_a_feature(frame, tmp_path):
    filtered = frame[frame["count"] > 0]
    assert read_table(filtered, "sample").feature_names == ("x", "y", "count")
    filtered.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", "sample").feature_names == ("x", "y", "count")
    filtered.set_index("sample").to_parquet(tmp_path / "named.parquet")
    assert read_table(tmp_path / "named.parquet", "sample").ids == ("a", "b", "c")


def test_ids_stay_as_they_are_written(tmp_path):
    (tmp_path / "t.csv").write_text("id,x\n01,1\n01,2\n1,3\n1,4\n")
    assert read_table(tmp_path / "t.csv", "id").ids == ("01", "1")


def test_features_are_a_list(frame):
    with pytest.raises(TypeError, match="features='xy'"):
        read_table(frame, "sample", features="xy")
    with pytest.raises(ValueError, match="features is empty"):
        read_table(frame, "sample", features=[])
    twice = pa.table([["a", "a"], [1.0, 2.0], [3.0, 4.0]], names=["id", "x", "x"])
    with pytest.raises(ValueError, match="several columns 'x'"):
        read_table(twice, "id")


def test_bad_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.parquet"):
        read_table(tmp_path / "absent.parquet", "sample")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"not parquet")
    with pytest.raises(ValueError, match=r"broken\.parquet"):
        read_table(broken, "sample")
    (tmp_path / "table.xlsx").write_bytes(b"")
    with pytest.raises(ValueError, match=r"expected \.parquet"):
        read_table(tmp_path / "table.xlsx", "sample")
    empty = tmp_path / "empty.parquet"
    parquet.write_table(
        pa.table({"sample": pa.array([], pa.string()), "x": pa.array([], pa.float64())}), empty
    )
    with pytest.raises(ValueError, match="no rows"):
        read_table(empty, "sample")


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
        ({"cloud": "patient", "use_rep": "X_umap"}, "no 'X_umap' in obsm: there is 'X_pca'"),
        ({"cloud": "patient", "layer": "raw"}, "no 'raw' in layers"),
        ({"cloud": "patient", "layer": "log", "use_rep": "X_pca"}, "give one of them"),
    ],
)
def test_missing_parts_of_anndata_are_named(rng, options, message):
    with pytest.raises(ValueError, match=message):
        read_anndata(annotated(rng, False)[0], **options)


def write_fcs(
    path, values: np.ndarray, channels: list[str], names: list[str] | None = None
) -> None:
    import flowio

    with path.open("wb") as file:
        flowio.create_fcs(file, values.astype(np.float32).flatten().tolist(), channels, names)


def test_backed_and_broken_anndata(rng, tmp_path):
    import anndata

    data, X = annotated(rng, sparse=True)
    data.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    np.testing.assert_array_equal(read_anndata(backed, "patient")[0].numpy(), X[[0, 1, 4, 6]])
    (tmp_path / "broken.h5ad").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"broken\.h5ad"):
        read_anndata(tmp_path / "broken.h5ad", "patient")


def test_fcs_folder_is_one_cloud_a_file(rng, tmp_path):
    first, second = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    write_fcs(tmp_path / "b.fcs", first, ["Ir191", "Nd142", "Tb159"], ["DNA", "cCasp3", "pS6"])
    write_fcs(
        tmp_path / "c.FCS",
        second[:, [2, 0, 1]],
        ["Tb159", "Ir191", "Nd142"],
        ["pS6", "DNA", "cCasp3"],
    )
    (tmp_path / "notes.txt").write_text("not a cloud")
    clouds = read_fcs(tmp_path)
    assert clouds.ids == ("b", "c")
    assert clouds.feature_names == ("DNA", "cCasp3", "pS6")
    np.testing.assert_allclose(clouds[0].numpy(), first, rtol=1e-6)
    np.testing.assert_allclose(clouds[1].numpy(), second, rtol=1e-6)  # matched by name
    some = read_fcs(tmp_path, channels=["pS6", "Ir191"])
    np.testing.assert_allclose(some[0].numpy(), first[:, [2, 0]], rtol=1e-6)
    with pytest.raises(ValueError, match=r"b\.fcs has no channel 'CD3'"):
        read_fcs(tmp_path, channels=["CD3"])


def test_fcs_folders_must_hold_something(tmp_path):
    with pytest.raises(ValueError, match=r"no \.fcs file"):
        read_fcs(tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder"):
        read_fcs(tmp_path / "absent")
    (tmp_path / "broken.fcs").write_bytes(b"FCS3.1 but no more")
    with pytest.raises(ValueError, match=r"broken\.fcs cannot be read as FCS"):
        read_fcs(tmp_path)


def test_npz_round_trip(rng, tmp_path):
    clouds = Clouds.from_list([rng.normal(size=(n, 2)) for n in (3, 5)], ["a", "b"], ["x", "y"])
    save_npz(clouds, tmp_path / "clouds.npz")
    again = read_npz(tmp_path / "clouds.npz")
    assert again.ids == clouds.ids
    assert again.feature_names == clouds.feature_names
    np.testing.assert_array_equal(again.points.numpy(), clouds.points.numpy())
    np.testing.assert_array_equal(again.offsets.numpy(), clouds.offsets.numpy())


def test_npz_never_unpickles(tmp_path):
    np.savez(tmp_path / "evil.npz", points=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="not an archive of plain arrays"):
        read_npz(tmp_path / "evil.npz")
    np.savez(tmp_path / "short.npz", points=np.eye(3), offsets=np.array([0, 2]))
    with pytest.raises(ValueError, match="do not rise from 0 to 3"):
        read_npz(tmp_path / "short.npz")
    (tmp_path / "empty.npz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"empty\.npz"):
        read_npz(tmp_path / "empty.npz")
    with pytest.raises(ValueError, match=r"ends in \.npz"):
        save_npz(Clouds.from_list([np.eye(2)]), tmp_path / "clouds")
    np.savez(tmp_path / "other.npz", values=np.eye(3))
    with pytest.raises(ValueError, match="no array 'points'"):
        read_npz(tmp_path / "other.npz")

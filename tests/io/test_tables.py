from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest

from pointforms.io import read_annotated_table, read_table


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
        (
            {},
            {"cloud": "plate"},
            ValueError,
            "no column 'plate': the table has the columns 'sample'",
        ),
        ({}, {"cloud": "sample", "features": ["z"]}, ValueError, "no feature column 'z'"),
        ({}, {"cloud": "Sampel"}, ValueError, "did you mean 'sample'"),
        (
            {},
            {"cloud": "sample", "features": ["note"]},
            TypeError,
            "'note' holds text instead of numbers in rows 0",
        ),
        ({"sample": ["b", None, "b", "c", "a", "b"]}, {"cloud": "sample"}, ValueError, "1 of 6"),
        (
            {"x": [0, 1, np.nan, 3, 4, 5]},
            {"cloud": "sample"},
            ValueError,
            "column 'x' has 1 missing or non-finite value: row 2",
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
    with pytest.raises(ValueError, match="several columns called 'x'"):
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


def test_annotations_have_one_value_per_cloud(frame):
    frame = frame.assign(age=[61, 47, 61, 30, 47, 61])
    clouds, values = read_annotated_table(frame, "sample", annotations=["age"], optional=["absent"])
    assert clouds.feature_names == ("x", "y", "count")
    assert list(values) == ["age"]
    assert values["age"].tolist() == [61, 47, 30]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_tables_larger_than_the_limit_are_not_read(suffix, tmp_path):
    rows = pa.table({"id": ["a"] * 10**4, "x": np.zeros(10**4), "y": np.zeros(10**4)})
    file = tmp_path / f"table{suffix}"
    (parquet.write_table if suffix == ".parquet" else csv.write_csv)(rows, file)
    with pytest.raises(
        ValueError, match=rf"table\{suffix}' declares arrays of .* max_bytes=10000 "
    ):
        read_table(file, "id", max_bytes=10**4)
    with pytest.raises(ValueError, match="declares arrays of"):
        read_annotated_table(file, "id", max_bytes=10**4)
    assert read_table(file, "id", max_bytes=10**6).sizes.tolist() == [10**4]


def test_only_columns_that_are_asked_for_are_read(tmp_path):
    rows = {"id": ["a", "a", "b"], "x": [0.0, 1.0, 2.0], "blob": ["z" * 10**5] * 3}
    parquet.write_table(pa.table(rows), tmp_path / "table.parquet")
    assert read_table(tmp_path / "table.parquet", "id", ["x"], max_bytes=200).ids == ("a", "b")
    with pytest.raises(ValueError, match="no feature column 'blop': did you mean 'blob'"):
        read_table(tmp_path / "table.parquet", "id", ["x", "blop"])
    with pytest.raises(ValueError, match=r"declares arrays of 0\.29 MiB"):  # text counts too
        read_table(tmp_path / "table.parquet", "id", max_bytes=200)


def test_parquet_in_many_batches(tmp_path):
    """Categories may have another dictionary in every row group."""
    ids = np.repeat(["b", "a", "c"], 50_000)
    frame = pd.DataFrame({"id": ids, "kind": ids, "x": np.arange(150_000.0)})
    frame = frame.astype({"id": "category", "kind": "category"})
    frame.to_parquet(tmp_path / "table.parquet", row_group_size=40_000)
    clouds, values = read_annotated_table(tmp_path / "table.parquet", "id", annotations=["kind"])
    assert clouds.ids == ("b", "a", "c")
    assert values["kind"].tolist() == ["b", "a", "c"]
    np.testing.assert_array_equal(clouds.points[:, 0].numpy(), frame.x)


def test_columns_of_one_name_in_a_file(tmp_path):
    twice = pa.table([["a", "b"], [0.0, 1.0], [2.0, 3.0]], names=["id", "x", "x"])
    parquet.write_table(twice, tmp_path / "table.parquet")
    with pytest.raises(ValueError, match="several columns called 'x'"):
        read_table(tmp_path / "table.parquet", "id")


def test_damaged_parquet_raises_expected_errors_only(frame, rng, tmp_path):
    frame.to_parquet(tmp_path / "good.parquet")
    content = (tmp_path / "good.parquet").read_bytes()
    for place in rng.integers(0, len(content), 40):
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.integers(8)
        (tmp_path / "bad.parquet").write_bytes(damaged)
        try:
            read_table(tmp_path / "bad.parquet", "sample")
        except (ValueError, TypeError) as error:
            assert str(error)  # noqa: PT017


@pytest.mark.parametrize("as_categories", [False, True])
def test_text_that_many_rows_repeat_is_counted_before_it_is_expanded(tmp_path, as_categories):
    rows = 20_000
    text = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["x" * 10**6])
    file = tmp_path / "bomb.parquet"  # of a kilobyte; 19 GiB if every row has its own text
    parquet.write_table(
        pa.table({"id": text, "x": np.zeros(rows)}), file, store_schema=as_categories
    )
    with pytest.raises(ValueError, match=r"bomb\.parquet' declares arrays of 18\.63 GiB"):
        read_table(file, "id")


def test_categories_of_a_parquet_file_are_read_as_text(tmp_path):
    frame = pd.DataFrame({"id": pd.Categorical(["b", "a", "b", "a"]), "x": [0.0, 1.0, 2.0, 3.0]})
    frame["list"] = [[1], [2], [3], [4]]  # not a feature
    frame.to_parquet(tmp_path / "table.parquet")
    clouds = read_table(tmp_path / "table.parquet", "id")
    assert (clouds.ids, clouds.feature_names) == (("b", "a"), ("x",))

"""Users' own files as tasks, and tasks as files."""

from __future__ import annotations

import anndata
import numpy as np
import pandas as pd
import pytest
from tests.helpers.tasks import need_data_of

import pointforms as pf
from pointforms.clouds import Clouds
from pointforms.io import save_npz
from pointforms.tasks.task import grouped_folds


@pytest.fixture
def table(rng) -> pd.DataFrame:
    """Twelve samples of six patients, two labels."""
    n = 8
    return pd.DataFrame(
        {
            "sample": np.repeat([f"s{i:02d}" for i in range(12)], n),
            "response": np.repeat(["yes", "no"] * 6, n),
            "patient": np.repeat([f"p{i // 2}" for i in range(12)], n),
            "cd3": rng.normal(size=12 * n),
            "cd4": rng.normal(size=12 * n),
        }
    )


COLUMNS = {"cloud": "sample", "label": "response", "group": "patient"}


@pytest.mark.parametrize("kind", ["frame", "parquet", "csv", "h5ad", "AnnData"])
def test_own_data(kind, table, tmp_path):
    data = table
    if kind == "parquet":
        table.to_parquet(data := tmp_path / "mine.parquet")
    elif kind == "csv":
        table.to_csv(data := tmp_path / "mine.csv")
    elif kind in ("h5ad", "AnnData"):
        cells = table.set_index(table.index.astype(str))
        data = anndata.AnnData(cells[["cd3", "cd4"]], obs=cells[list(COLUMNS.values())])
        if kind == "h5ad":
            data.write_h5ad(tmp_path / "mine.h5ad")
            data = tmp_path / "mine.h5ad"
    task = pf.tasks.read(data, **COLUMNS)
    assert task.class_names == ("no", "yes")
    assert task.labels.tolist() == [1, 0] * 6
    assert task.groups.tolist() == np.repeat(range(6), 2).tolist()
    assert task.feature_names == ("cd3", "cd4")
    np.testing.assert_allclose(task.clouds[1], table[["cd3", "cd4"]].iloc[8:16])
    assert len(set(task.folds)) == 5


def test_every_cloud_is_a_group_if_none_is_named(table):
    task = pf.tasks.read(table.rename(columns={"patient": "name"}), "sample", "response")
    assert len(set(task.groups)) == 12
    assert task.summary.entries["groups"] == "none: every cloud is a group of its own"
    guessed = pf.tasks.read(table, "sample", "response")
    assert len(set(guessed.groups)) == 6
    assert "taken by its name" in guessed.summary.entries["groups"]
    assert task.feature_names == ("cd3", "cd4")


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz"])
@pytest.mark.parametrize("name", pf.tasks.names())
def test_round_trip(name, suffix, tmp_path):
    need_data_of(name)
    made = {} if name == "japanese-vowels" else {"clouds": 40, "points": 12}
    task = pf.tasks.load(name, **made)
    pf.tasks.write(task, tmp_path / "folder" / f"task{suffix}")
    again = pf.tasks.read(tmp_path / "folder" / f"task{suffix}")
    assert again.feature_names == task.feature_names
    assert again.class_names == task.class_names
    for part in ("labels", "groups", "folds", "split"):
        np.testing.assert_array_equal(getattr(again, part), getattr(task, part))
    for a, b in zip(again.clouds, task.clouds, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    assert [p.name for p in (tmp_path / "folder").iterdir()] == [f"task{suffix}"]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "npz"])
def test_without_folds_the_reader_makes_them(suffix, tmp_path):
    task = pf.tasks.load("colocated", seed=3, clouds=40, points=8)
    path = tmp_path / f"mine.{suffix}"
    pf.tasks.write(task, path, folds=False)
    for seed in (3, 4):
        expected = grouped_folds(task.labels, task.groups, seed)
        np.testing.assert_array_equal(pf.tasks.read(path, seed=seed).folds, expected)
    assert (grouped_folds(task.labels, task.groups, 4) != task.folds).any()


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    import pyarrow.parquet

    def fail(table, path):
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(pyarrow.parquet, "write_table", fail)
    with pytest.raises(OSError, match="disk full"):
        pf.tasks.write(pf.tasks.load("colocated", clouds=20), tmp_path / "task.parquet")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=r"'task\.txt': expected"):
        pf.tasks.write(pf.tasks.load("colocated", clouds=20), "task.txt")


def spoil(table: pd.DataFrame, column: str, rows, value) -> pd.DataFrame:
    spoilt = table.copy()
    spoilt[column] = spoilt[column].astype(object)
    spoilt.loc[rows, column] = value
    return spoilt


@pytest.mark.parametrize(
    ("column", "rows", "value", "message"),
    [
        (
            "response", [17], "maybe",
            "column 'response' differs inside cloud 's02': 'yes' in row 16, 'maybe' in row 17",
        ),
        (
            "patient", [9, 95], "p9",
            r"'patient' differs inside cloud 's01': .* row 9 \(and in 1 more cloud\)",
        ),
        ("response", [3, 4], None, "column 'response' is empty in 2 of 96 rows: rows 3, 4"),
        ("sample", [5], None, "column 'sample' is empty in 1 of 96 rows: row 5"),
        ("cd3", [7, 20], np.nan, "column 'cd3' has 2 missing or non-finite values: rows 7, 20"),
        ("cd4", [2], np.inf, "column 'cd4' has 1 missing or non-finite value: row 2"),
    ],
)  # fmt: skip
def test_malformed_tables(column, rows, value, message, table):
    spoilt = spoil(table, column, rows, value)
    if column.startswith("cd"):
        spoilt[column] = spoilt[column].astype(float)
    with pytest.raises(ValueError, match=message):
        pf.tasks.read(spoilt, **COLUMNS)


def test_text_among_numbers_is_not_left_out_silently(table, tmp_path):
    spoil(table, "cd3", [11, 40], "n.d.").to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(
        TypeError, match=r"'cd3' holds text instead of numbers in rows 11 \('n\.d\.'\)"
    ):
        pf.tasks.read(tmp_path / "mine.csv", **COLUMNS)
    noted = table.assign(note="good")  # no number at all: not meant as a feature
    assert pf.tasks.read(noted, **COLUMNS).feature_names == ("cd3", "cd4")
    with pytest.raises(TypeError, match="'note' holds text instead of numbers in rows 0"):
        pf.tasks.read(noted, **COLUMNS, features=["cd3", "note"])


def test_bytes_that_are_no_text_are_refused(table):
    table["response"] = [b"\xff" if label == "yes" else b"no" for label in table["response"]]
    with pytest.raises(ValueError, match=r"column 'response' holds b'\\xff', which is no text"):
        pf.tasks.read(table, **COLUMNS)


def test_missing_columns(table):
    with pytest.raises(ValueError, match="no column 'Response': did you mean 'response'"):
        pf.tasks.read(table, "sample", "Response")
    with pytest.raises(ValueError, match="no column 'donor'"):
        pf.tasks.read(table, "sample", "response", "donor")
    with pytest.raises(ValueError, match="'response' has only the value 'yes'"):
        pf.tasks.read(table.assign(response="yes"), **COLUMNS)
    with pytest.raises(ValueError, match="class 'no' has clouds of 1 group only"):
        pf.tasks.read(table.assign(patient=table.response), **COLUMNS)


def test_archives(rng, tmp_path):
    clouds = Clouds.from_list([rng.normal(size=(5, 2)) for _ in range(12)])
    save_npz(clouds, tmp_path / "mine.npz", {"label": np.arange(12) % 2})
    assert pf.tasks.read(tmp_path / "mine.npz").labels.tolist() == [0, 1] * 6
    points, offsets = np.eye(4), np.array([0, 2, 2, 4])
    np.savez(tmp_path / "empty.npz", points=points, offsets=offsets, label=np.arange(3))
    with pytest.raises(ValueError, match=r"cloud 1 of .*empty\.npz' is empty"):
        pf.tasks.read(tmp_path / "empty.npz")
    np.savez(tmp_path / "short.npz", points=points, offsets=np.array([0, 2, 4]), label=np.arange(3))
    with pytest.raises(
        ValueError, match=r"'label' .* shape \(3,\): expected one value for each of 2"
    ):
        pf.tasks.read(tmp_path / "short.npz")
    with pytest.raises(ValueError, match="no array 'class'"):
        pf.tasks.read(tmp_path / "mine.npz", label="class")


@pytest.mark.parametrize("fold", ["a", 1.5, np.inf, "1.5"])
def test_folds_must_be_whole_numbers(fold, table):
    with pytest.raises(ValueError, match="'fold' does not hold whole numbers"):
        pf.tasks.read(table.assign(fold=fold), **COLUMNS)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("fold", np.arange(12) % 2, "group p0 has clouds in the folds 0, 1: .* 5 more groups"),
        ("fold", np.where(np.arange(12) < 6, -1, 7), "the folds are -1, 7: expected whole numbers"),
        ("split", ["train"] * 9 + ["test"] * 3, "group p4 has clouds in the parts of the split"),
        ("split", ["train"] * 6 + ["tset"] * 6, "split has the part 'tset'"),
    ],
)
def test_folds_and_splits_keep_groups_together(column, values, message, table):
    with pytest.raises(ValueError, match=message):
        pf.tasks.read(table.assign(**{column: np.repeat(values, 8)}), **COLUMNS)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz", ".h5ad"])
def test_files_larger_than_the_limit_are_not_read(suffix, table, tmp_path):
    file = tmp_path / f"mine{suffix}"
    if suffix == ".h5ad":
        cells = table.set_index(table.index.astype(str))
        data = anndata.AnnData(cells[["cd3", "cd4"]], obs=cells[list(COLUMNS.values())])
        data.write_h5ad(file)
    else:
        pf.tasks.write(pf.tasks.read(table, **COLUMNS), file)
    columns = COLUMNS if suffix == ".h5ad" else {}
    with pytest.raises(ValueError, match=rf"mine\{suffix}' declares arrays of"):
        pf.tasks.read(file, **columns, max_bytes=1000)
    assert len(pf.tasks.read(file, **columns, max_bytes=10**5)) == 12


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz"])
def test_names_and_numbers_survive(suffix, table, tmp_path):
    months = table.assign(months=table.groupby("sample").cd3.transform("mean"))
    task = pf.tasks.read(months, "sample", "months", drop=["response"])
    assert task.regression
    pf.tasks.write(task, tmp_path / f"mine{suffix}")
    again = pf.tasks.read(tmp_path / f"mine{suffix}")
    assert again.ids == task.ids == tuple(f"s{i:02d}" for i in range(12))
    np.testing.assert_allclose(again.labels, task.labels, rtol=1e-12)
    np.testing.assert_array_equal(again.folds, task.folds)


def test_covariates_and_batches_are_kept(table):
    more = table.assign(age=np.repeat(np.arange(12) + 40, 8), plate=np.repeat(["a", "b"], 48))
    task = pf.tasks.read(more, **COLUMNS, covariates=["age"], batch="plate")
    assert task.covariates["age"].tolist() == list(range(40, 52))
    assert task.batch.tolist() == ["a"] * 6 + ["b"] * 6


def test_genes_of_anndata_are_chosen_by_name(rng):
    cells = anndata.AnnData(rng.normal(size=(40, 3)))
    cells.var_names = ["CD3", "CD4", "CD8"]
    cells.obs["cloud"] = np.repeat([f"c{i}" for i in range(10)], 4)
    cells.obs["label"] = np.repeat(list("ab") * 5, 4)
    task = pf.tasks.read(cells, features=["CD8", "CD3"])
    assert task.feature_names == ("CD8", "CD3")
    np.testing.assert_array_equal(task.clouds[0], cells.X[:4][:, [2, 0]])
    with pytest.raises(TypeError, match="SpatialData is not supported yet"):
        pf.tasks.read(type("SpatialData", (), {})())

"""Files of one's own: what is understood, and what is refused."""

from __future__ import annotations

import sys

import anndata
import numpy as np
import pandas as pd
import pytest

import pointforms as pf
from pointforms.io import ReadOptions, read_file

N = 10


@pytest.fixture
def table(rng) -> pd.DataFrame:
    """Eight samples of four patients."""
    return pd.DataFrame(
        {
            "cloud": np.repeat([f"s{i}" for i in range(8)], N),
            "label": np.repeat(["yes", "no"] * 4, N),
            "Patient ID": np.repeat([f"p{i // 2}" for i in range(8)], N),
            "cd3": rng.normal(size=8 * N),
            "cd4": rng.normal(size=8 * N),
            "note": "fine",
        }
    )


def per_cloud(values) -> np.ndarray:
    return np.repeat(np.asarray(values), N)


def test_the_summary_says_what_was_understood(table):
    others = {"empty": None, "dead": [True, False] * 40, "day": pd.Timestamp("2024-01-31")}
    content = read_file(table.assign(**others), ReadOptions(drop=["cd4"]))
    assert content.summary.entries == {
        "clouds": "8 of 10 points",
        "features": "1: cd3",
        "left out": "cd4 (dropped); note (text); empty (empty); dead (true or false); "
        "day (dates or times)",
        "label": "label: no 4, yes 4 (classification)",
        "groups": "Patient ID: 4 groups (taken by its name; --group names another column)",
    }
    assert content.groups.tolist() == [f"p{i // 2}" for i in range(8)]
    assert content.clouds.ids == tuple(f"s{i}" for i in range(8))


@pytest.mark.parametrize("name", ["absent.csv", "absent.parquet", "absent.h5ad", "absent"])
def test_an_absent_file_is_named_before_an_absent_package(name, tmp_path, monkeypatch):
    for package in ("pyarrow", "anndata", "flowio"):
        monkeypatch.setitem(sys.modules, package, None)
    path, samples = tmp_path / name, tmp_path / "samples.csv"
    samples.write_text("cloud,label\n")
    for options in (ReadOptions(), ReadOptions(features=["x"]), ReadOptions(samples=samples)):
        with pytest.raises(FileNotFoundError, match=f"no file .*{name}"):
            read_file(path, options)
    for reader in (pf.read_table, pf.read_anndata):
        with pytest.raises(FileNotFoundError, match=f"no file .*{name}"):
            reader(path, cloud="cloud")
    with pytest.raises(FileNotFoundError, match=f"no folder or file .*{name}"):
        pf.read_fcs(path)


def test_an_absent_package_is_named(tmp_path, monkeypatch):
    for package in ("pyarrow", "anndata", "flowio"):
        monkeypatch.setitem(sys.modules, package, None)
    for name, extra in {"a.csv": "table", "a.parquet": "table", "a.h5ad": "sc"}.items():
        (tmp_path / name).write_text("")
        for options in (ReadOptions(), ReadOptions(features=["x"])):
            with pytest.raises(ImportError, match=rf"pip install \"pointforms\[{extra}\]"):
                read_file(tmp_path / name, options)
    (tmp_path / "a.fcs").write_text("")
    with pytest.raises(ImportError, match=r"pip install \"pointforms\[fcs\]"):
        pf.read_fcs(tmp_path)


def test_a_value_per_cloud_is_refused_by_name(table):
    leaking = table.assign(os_months=per_cloud(np.arange(8) * 1.5))
    with pytest.raises(ValueError, match=r"column 'os_months' has one value per cloud .*--drop os"):
        read_file(leaking)
    named = read_file(leaking, ReadOptions(features=["cd3", "os_months"]))
    assert named.clouds.feature_names == ("cd3", "os_months")
    assert "'os_months' has one value per cloud" in named.summary.entries["remarks"]
    allowed = read_file(leaking, ReadOptions(allow=["os_months"]))
    assert allowed.clouds.feature_names == ("cd3", "cd4", "os_months")
    covariate = read_file(leaking, ReadOptions(covariates=["os_months"]))
    assert covariate.clouds.feature_names == ("cd3", "cd4")
    np.testing.assert_array_equal(covariate.covariates["os_months"], np.arange(8) * 1.5)


def test_a_constant_of_all_clouds_is_no_leak(table):
    assert "one" in read_file(table.assign(one=1.0)).clouds.feature_names


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("cell_id", np.tile([7, 3], 4 * N), "looks like an identifier .by its name."),
        ("n", np.arange(8 * N), "identifier"),
        ("n", np.tile(np.arange(N), 8), "identifier .it counts up in every cloud."),
        ("n", np.arange(8 * N)[::-1], "identifier .a different whole number in every row."),
        ("batch", np.tile([0, 1], 4 * N), "'batch' names batches .*--batch batch"),
        ("Fold", np.tile([0, 1], 4 * N), "'Fold' names folds"),
        ("sample_id", np.tile([0, 1], 4 * N), "'sample_id' names samples"),
    ],
)
def test_what_is_no_measurement_is_refused(name, values, message, table):
    with pytest.raises(ValueError, match=message):
        read_file(table.assign(**{name: values}))
    allowed = read_file(table.assign(**{name: values}), ReadOptions(allow=[name]))
    assert name in allowed.clouds.feature_names


@pytest.mark.parametrize("name", ["counts", "shape_index"])
def test_measurements_are_not_taken_for_identifiers(name, table, rng):
    values = rng.poisson(20, 8 * N) if name == "counts" else rng.normal(size=8 * N)
    assert name in read_file(table.assign(**{name: values})).clouds.feature_names


@pytest.mark.parametrize("name", ["cluster", "leiden_0.5", "cell_type", "CellType", "Cluster ID2"])
def test_categories_are_remarked_on(name, table):
    numbered = table.assign(**{name: np.tile([4, 0, 1, 1], 2 * N)})
    content = read_file(numbered)
    assert name in content.clouds.feature_names
    assert content.summary.entries["remarks"] == (
        f"column '{name}' is used as a coordinate, but looks like a category (3 different whole "
        f"numbers): --drop {name} leaves it out"
    )
    for options in ({"allow": [name]}, {"features": ["cd3", name]}, {"drop": [name]}):
        assert "remarks" not in read_file(numbered, ReadOptions(**options)).summary.entries


@pytest.mark.parametrize("name", ["counts", "cluster_score", "collagen_type"])
def test_measurements_are_not_taken_for_categories(name, table, rng):
    values = rng.normal(size=8 * N) if "score" in name else rng.poisson(3, 8 * N)
    assert "remarks" not in read_file(table.assign(**{name: values})).summary.entries


def test_an_unused_group_is_no_coordinate(table, tmp_path):
    numbered = table.assign(group=per_cloud(np.arange(8) // 2))
    numbered.to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(ValueError, match=r"'group' names groups .*--group group"):
        read_file(tmp_path / "mine.csv", ReadOptions(group="Patient ID"))
    assert read_file(tmp_path / "mine.csv").summary.entries["groups"] == "group: 4 groups"


BY_NAME = r"; it is taken as the group by its name: --group COLUMN .*--drop Patient ID learns"


def test_clouds_of_two_groups_are_refused(table):
    merged = table.assign(cloud=table.cloud.replace("s4", "s0"))
    differs = "'Patient ID' differs inside cloud 's0': 'p0' in row 0, 'p2' in row 40"
    with pytest.raises(ValueError, match=differs + BY_NAME):
        read_file(merged)
    with pytest.raises(ValueError, match=differs + "$"):
        read_file(merged, ReadOptions(group="Patient ID"))
    ungrouped = read_file(merged, ReadOptions(drop=["Patient ID"]))
    assert ungrouped.summary.entries["groups"].startswith("none")
    assert read_file(merged, ReadOptions(group="cloud")).groups.tolist() == [*ungrouped.clouds.ids]
    assert len(read_file(merged, labels=False).clouds) == 7


def test_rows_without_a_group_are_refused(table):
    spoilt = table.copy()
    spoilt.loc[[3, 25], "Patient ID"] = None
    empty = "'Patient ID' is empty in 2 of 80 rows: rows 3, 25; --drop-missing"
    with pytest.raises(ValueError, match=empty + ".*" + BY_NAME):
        read_file(spoilt)
    with pytest.raises(ValueError, match=empty + r"[^;]*$"):
        read_file(spoilt, ReadOptions(group="Patient ID"))
    without = read_file(spoilt, ReadOptions(drop_missing=True))
    assert without.summary.entries["groups"].startswith("Patient ID: 4 groups")
    assert "2 of 80 points dropped: missing values" in without.summary.entries["remarks"]
    with pytest.raises(ValueError, match=r"'Patient ID' is empty in 80 of 80 rows.*" + BY_NAME):
        read_file(spoilt.assign(**{"Patient ID": None}), ReadOptions(drop_missing=True))


def test_samples_without_a_group_are_refused(table, tmp_path):
    points = table.drop(columns="Patient ID")
    samples = tmp_path / "clinic.csv"
    donors = ["x", None, "y", "y", "z", "z", "w", "w"]
    pd.DataFrame({"id": [f"s{i}" for i in range(8)], "donor": donors}).to_csv(samples, index=False)
    message = r"'donor' of clinic.csv is empty for cloud 's1' \(row 1\).*--drop donor learns"
    with pytest.raises(ValueError, match=message):
        read_file(points, ReadOptions(samples=samples))
    content = read_file(points, ReadOptions(samples=samples, drop=["donor"]))
    assert content.groups is None
    assert content.summary.entries["left out"] == "donor (dropped); note (text)"


def test_missing_values_are_named_or_dropped(table):
    spoilt = table.copy()
    spoilt.loc[[3, 25], "cd3"] = np.nan
    spoilt.loc[per_cloud(np.arange(8)) == 6, "label"] = None
    with pytest.raises(ValueError, match=r"'label' is empty in 10 of 80 rows: .*--drop-missing"):
        read_file(spoilt)
    with pytest.raises(ValueError, match=r"'cd3' has 2 missing .*: rows 3, 25; --drop-missing"):
        read_file(spoilt.assign(label=table.label))
    content = read_file(spoilt, ReadOptions(drop_missing=True))
    assert content.clouds.sizes.tolist() == [9, 10, 9, 10, 10, 10, 10]
    assert "12 of 80 points dropped: missing values" in content.summary.entries["remarks"]


def test_single_points_are_named_or_dropped(table):
    small = pd.concat([table[table.cloud != "s2"], table[table.cloud == "s2"].head(1)])
    with pytest.raises(ValueError, match=r"cloud s2 has one point only: --drop-small 2"):
        read_file(small)
    content = read_file(small, ReadOptions(drop_small=2))
    assert "s2" not in content.clouds.ids
    assert "fewer than 2 points (s2)" in content.summary.entries["remarks"]
    with pytest.raises(ValueError, match="every cloud has fewer than 99 points"):
        read_file(small, ReadOptions(drop_small=99))


def test_clouds_of_equal_points_are_named(table):
    spoilt = table.copy()
    columns = ["cd3", "cd4"]
    for name in ("s2", "s5"):
        rows = spoilt.cloud == name
        spoilt.loc[rows, columns] = spoilt.loc[rows, columns].iloc[0].to_numpy()
    with pytest.raises(ValueError, match=r"^all points of clouds s2, s5 are equal: no geometry"):
        read_file(spoilt, ReadOptions(features=tuple(columns)))


@pytest.mark.parametrize("separator", [",", ";"])
def test_decimal_commas_are_named_or_read(separator, table, tmp_path):
    file = tmp_path / "mine.csv"
    table.to_csv(file, index=False, sep=separator, decimal=",")
    with pytest.raises(ValueError, match=r"'cd3' has decimal commas in rows 0 .*--decimal-comma"):
        read_file(file)
    content = read_file(file, ReadOptions(decimal_comma=True))
    np.testing.assert_allclose(content.clouds.points[:, 0], table.cd3)


def test_numbers_to_predict_are_announced(table):
    months = table.assign(label=per_cloud(np.arange(8) + 0.5))
    content = read_file(months)
    assert content.regression
    assert "numbers from 0.5 to 7.5 (regression, because it" in content.summary.entries["label"]
    assert not read_file(months, ReadOptions(kind="classification")).regression
    whole = table.assign(label=per_cloud(np.arange(8)))
    assert not read_file(whole).regression
    assert read_file(whole, ReadOptions(kind="regression")).regression
    with pytest.raises(ValueError, match="'label' holds 'yes': --task regression needs numbers"):
        read_file(table, ReadOptions(kind="regression"))


def test_labels_are_not_needed_and_no_coordinates(table):
    numbered = table.assign(label=per_cloud(np.arange(8) % 2), patient=per_cloud(np.arange(8)))
    content = read_file(numbered, labels=False)
    assert content.clouds.feature_names == ("cd3", "cd4")
    assert content.labels is None


def test_a_table_of_samples_has_what_the_file_lacks(table, tmp_path):
    samples = tmp_path / "clinic.csv"
    rows = pd.DataFrame({"sample": [f"s{i}" for i in range(9)], "age": range(40, 49)})
    rows.assign(response=["a", "b"] * 4 + ["a"], donor=list("xxyyzzwwv")).to_csv(samples)
    points = table[["cloud", "cd3", "cd4"]]
    options = ReadOptions(label="response", covariates=["age"], samples=str(samples))
    content = read_file(points, options)
    assert content.labels.tolist() == ["a", "b"] * 4
    assert content.groups.tolist() == list("xxyyzzww")
    assert content.covariates["age"].tolist() == list(range(40, 48))
    assert content.summary.entries["remarks"] == "1 row of clinic.csv belongs to no cloud"
    rows.head(6).assign(response=["a", "b"] * 3).to_csv(samples)
    with pytest.raises(ValueError, match=r"clinic.csv has no row for clouds 's6', 's7': --drop-mi"):
        read_file(points, options)
    fewer = read_file(points, ReadOptions.of(options.differing() | {"drop_missing": True}))
    assert len(fewer.clouds) == 6


def test_samples_must_name_their_clouds(table, tmp_path):
    samples = tmp_path / "s.csv"
    samples.write_text("fcs,response\ns0,yes\n")
    message = r"expected one called tube, cloud, file, .* or id; it has 'fcs', 'response'"
    with pytest.raises(ValueError, match=message):
        read_file(table, ReadOptions(cloud="tube", samples=samples))


@pytest.mark.parametrize("name", ["cells.xlsx", "tube.fcs", "cells"])
def test_files_of_other_kinds_are_refused(name, tmp_path):
    (tmp_path / name).write_text("?")
    message = rf"{name}' cannot be read: expected .* \.npz, \.h5ad, or a folder of \.fcs files"
    with pytest.raises(ValueError, match=message):
        read_file(tmp_path / name)
    with pytest.raises(ValueError, match=rf"{name}' is not a table: expected \.parquet"):
        pf.read_table(tmp_path / name, cloud="cloud")


def test_a_folder_of_fcs_files(tmp_path, rng):
    flowio = pytest.importorskip("flowio")
    for i in range(4):
        with open(tmp_path / f"tube{i}.fcs", "wb") as file:
            events = np.column_stack([rng.normal(size=(9, 2)), np.arange(9)])
            flowio.create_fcs(file, events.ravel().tolist(), ["CD3", "CD4", "Time"])
    with pytest.raises(ValueError, match=r"no column 'label': expected a table samples\.csv"):
        read_file(tmp_path)
    assert len(read_file(tmp_path, labels=False).clouds) == 4
    rows = pd.DataFrame({"file": [f"tube{i}.fcs" for i in (3, 1, 2, 0)], "label": list("bbaa")})
    rows.to_csv(tmp_path / "samples.csv", index=False)
    content = read_file(tmp_path)
    assert content.clouds.feature_names == ("CD3", "CD4")
    assert content.summary.entries["left out"] == "Time (time of acquisition, not a measurement)"
    assert dict(zip(content.clouds.ids, content.labels.tolist(), strict=True)) == {
        "tube0": "a", "tube1": "b", "tube2": "a", "tube3": "b",
    }  # fmt: skip
    assert (
        "Time"
        in read_file(tmp_path, ReadOptions(allow=["Time"], drop=["CD3"])).clouds.feature_names
    )


def test_archives_without_what_is_needed(tmp_path, rng):
    path = tmp_path / "mine.npz"
    np.savez(path, X=np.zeros((4, 2)), y=np.zeros(4))
    message = r"has no array 'points', but 'X', 'y': expected an archive as pf\.io\.save_npz"
    for read in (pf.read_npz, read_file):
        with pytest.raises(ValueError, match=message):
            read(path)
    clouds = pf.Clouds.from_list([rng.normal(size=(4, 2)) for _ in range(2)])
    pf.io.save_npz(clouds, path)
    with pytest.raises(ValueError, match="no array 'label': the file has the clouds only; --sampl"):
        read_file(path)
    pf.io.save_npz(clouds, path, {"response": np.array(["a", "b"])})
    with pytest.raises(ValueError, match="no array 'label': the archive has the arrays 'response'"):
        read_file(path)


def test_genes_of_anndata_are_chosen_and_dropped(table):
    cells = table.set_index(table.index.astype(str))
    data = anndata.AnnData(cells[["cd3", "cd4"]], obs=cells[["cloud", "label", "note"]])
    data.obsm["X_pca"] = np.ascontiguousarray(data.X[:, ::-1])
    dropped = read_file(data, ReadOptions(drop=["cd3"]))
    assert dropped.clouds.feature_names == ("cd4",)
    assert dropped.summary.entries["left out"] == "note (column of obs); cd3 (dropped)"
    assert read_file(data, ReadOptions(features=["cd4", "cd3"])).clouds.feature_names == (
        "cd4", "cd3",
    )  # fmt: skip
    pca = read_file(data, ReadOptions(use_rep="X_pca"))
    np.testing.assert_allclose(pca.clouds.points[:, 0], table.cd4)
    with pytest.raises(ValueError, match="no column 'lable' in obs: did you mean 'label'"):
        read_file(data, ReadOptions(label="lable"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": ["label"]}, "column 'label' is dropped, and is the label"),
        ({"features": ["cloud"]}, "column 'cloud' is a feature, and is the cloud"),
        ({"kind": "regresion"}, "did you mean 'regression'"),
        ({"drop_small": -1}, "drop_small=-1: expected a number of points"),
        ({"use_rep": "a", "layer": "b"}, "expected one of them, not both"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        ReadOptions(**options)


def test_options_survive_json():
    options = ReadOptions(cloud="sample", covariates=["age"], drop_missing=True)
    assert options.differing() == {"cloud": "sample", "covariates": ["age"], "drop_missing": True}
    assert ReadOptions.of(options.differing()) == options
    assert pf.io.ReadOptions().differing() == {}

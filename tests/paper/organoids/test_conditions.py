"""The table in parts, and one pass over it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from pointforms.paper.organoids.conditions import Condition, gather
from pointforms.paper.organoids.schema import PAIRS, module, schema, withheld
from pointforms.paper.organoids.simulate import Simulator, write_simulated
from pointforms.paper.organoids.table import CellBlock, CellTable
from pointforms.paper.organoids.trusted_pickle import convert_pickle


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Some 14 000 simulated cells."""
    path = tmp_path_factory.mktemp("pdo") / "cells.parquet"
    write_simulated(path, cells=4, seed=0)
    return path


def changed(small, tmp_path, change, name="changed.parquet"):
    path = tmp_path / name
    parquet.write_table(change(parquet.read_table(small)), path)
    return path


def test_schema_is_the_published_one():
    known = schema()
    assert (len(known.markers), len(known.columns), len(known.conditions())) == (44, 54, 27)
    treated = [c for c in known.conditions() if c[1] not in known.vehicles.values()]
    assert len(treated) * len(known.values["Patient"]) == 240
    assert len(known.conditions()) * len(known.values["Patient"]) * len(PAIRS) == 1080
    assert known.columns[44:46] == ("Date", "Patient")
    assert known.columns[-3:] == ("pPKCa", "Plate", "Batch")
    for task in ("tumor-selective", "efp", "caf"):
        assert set(withheld(task, "relaxed")) <= set(withheld(task)) <= set(known.markers)
    assert module("apoptosis") == ("cCaspase_3", "cPARP")
    with pytest.raises(ValueError, match="policy='loose'"):
        withheld("efp", "loose")


def test_simulated_tables_have_the_schema_and_the_design(small):
    table = parquet.read_table(small)
    assert tuple(table.column_names) == schema().columns
    assert b"pointforms.simulated" in table.schema.metadata
    frame = table.select(["Patient", "Culture", "Cell_type", "Plate", "Treatment"]).to_pandas()
    assert set(zip(frame.Culture, frame.Cell_type, strict=True)) == set(PAIRS)
    assert set(frame.Patient) == set(schema().values["Patient"])
    assert set(frame.Treatment) == set(schema().treatments)
    missing = np.isnan(table["pPKCa"].to_numpy()).mean()
    assert 0.2 < missing < 0.7
    assert (np.nan_to_num(table["CK18"].to_numpy()) >= 0).all()


def test_one_seed_gives_one_table(tmp_path, small):
    write_simulated(tmp_path / "again.parquet", cells=4, seed=0)
    assert (tmp_path / "again.parquet").read_bytes() == small.read_bytes()
    with pytest.raises(ValueError, match=r"ends in \.parquet"):
        write_simulated(tmp_path / "cells.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["again.parquet"]


def test_markers_are_near_the_published_quartiles(small):
    """Within half a unit of asinh(x / 5), where dozens of percent are."""
    table = parquet.read_table(small)
    for name, wanted in schema().quartiles.items():
        values = table[name].to_numpy()
        found = np.quantile(values[np.isfinite(values)], 0.5)
        assert np.arcsinh(found / 5) == pytest.approx(np.arcsinh(wanted[1] / 5), abs=0.5), name


def test_a_response_has_a_geometry(small):
    """Drugs kill cells, and change markers that are in no label too."""
    simulator = Simulator(cells=300)
    samples = {
        s.treatment + s.concentration: (s, i)
        for i, s in enumerate(simulator.design())
        if s.patient == "5" and s.culture == "PDO" and s.replicate == "A"
    }
    control, treated = (simulator.cells_of(*samples[name]) for name in ("DMSO0", "S4"))
    place = list(simulator.markers).index("cPARP")
    assert np.arcsinh(treated[:, place] / 5).mean() > np.arcsinh(control[:, place] / 5).mean() + 0.1


def blocks_of(points, codes, size):
    values = [str(i) for i in range(4)]
    fixed = {name: (np.zeros(size, dtype=int), ["a"]) for name in schema().metadata}
    for start in range(0, len(points), size):
        part = codes[start : start + size]
        metadata = {k: (v[0][: len(part)], v[1]) for k, v in fixed.items()}
        yield CellBlock(start, metadata | {"Patient": (part, values)}, points[start : start + size])


def test_what_is_kept_does_not_depend_on_the_parts(rng):
    points, codes = rng.lognormal(size=(500, 3)), rng.integers(0, 4, 500)
    points[7, 1], points[8, 2] = np.nan, np.inf
    found = [
        gather(blocks_of(points, codes, size), ("x", "y", "z"), most=20) for size in (500, 64, 7)
    ]
    one = found[0]
    assert (one.read, one.dropped) == (500, 2)
    finite = np.isfinite(points).all(1)
    for condition in one.count:
        own = finite & (codes == int(condition.patient))
        assert one.count[condition] == own.sum()
        transformed = np.arcsinh(points[own] / 5)
        np.testing.assert_allclose(one.mean[condition], transformed.mean(0))
        assert len(one.cells[condition]) == 20
        rows = one.rows[condition]
        assert set(rows) <= set(np.flatnonzero(own))
        np.testing.assert_allclose(one.cells[condition], np.arcsinh(points[rows] / 5), rtol=1e-6)
        for other in found[1:]:
            np.testing.assert_array_equal(other.rows[condition], rows)
            np.testing.assert_array_equal(other.cells[condition], one.cells[condition])
            np.testing.assert_allclose(other.mean[condition], one.mean[condition])


def test_formats_read_the_same(small, tmp_path):
    table = parquet.read_table(small).slice(0, 900)
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, tmp_path / "a.feather")
    csv.write_csv(table, tmp_path / "a.csv")
    found = [
        gather(CellTable(tmp_path / name).blocks(), schema().markers, 5)
        for name in ("a.parquet", "a.feather", "a.csv")
    ]
    for other in found[1:]:
        assert other.count == found[0].count
        for condition, cells in found[0].cells.items():
            np.testing.assert_allclose(other.cells[condition], cells, rtol=1e-6)
    assert CellTable(tmp_path / "a.feather").rows() == 900


@pytest.mark.parametrize("name", ["long.parquet", "long.feather"])
def test_a_long_table_is_not_kept_in_memory(name, small, tmp_path, monkeypatch):
    monkeypatch.setattr("pointforms.paper.organoids.table._ROWS", 4096)
    table = parquet.read_table(small).slice(0, 4096)
    if name.endswith("parquet"):
        with parquet.ParquetWriter(tmp_path / name, table.schema) as writer:
            for _ in range(30):
                writer.write_table(table)
    else:
        with pa.ipc.new_file(tmp_path / name, table.schema) as writer:
            for _ in range(30):
                writer.write_table(table)
    del table
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    for part in CellTable(tmp_path / name).blocks():
        rows += len(part)
        most = max(most, pa.total_allocated_bytes() - before)
    assert rows == 30 * 4096
    assert most < 0.4 * (tmp_path / name).stat().st_size


def test_replicates_are_pooled_or_kept(small):
    table = CellTable(small)
    pooled = gather(table.blocks(), table.markers, 5)
    kept = gather(table.blocks(), table.markers, 5, replicates=True)
    assert len(pooled.count) == 1080
    assert len(kept.count) == 84 * 10 * 4
    one = Condition("5", "PDO", "PDOs", "SLV", "DMSO", "0")
    assert pooled.count[one] == sum(
        n for c, n in kept.count.items() if c._replace(replicate="") == one
    )


def test_numbers_as_metadata_are_text(small, tmp_path):
    """One date of the published table is a number."""

    def change(table):
        dates = pa.array([int(d) for d in table["Date"].to_pylist()])
        return table.set_column(table.column_names.index("Date"), "Date", dates)

    path = changed(small, tmp_path, change)
    part = next(iter(CellTable(path).blocks()))
    assert all(isinstance(value, str) for value in part.metadata["Date"][1])


def test_wrong_tables_are_refused(small, tmp_path):
    def drop(table):
        table = table.drop_columns(["cPARP", "Plate"]).append_column("note", pa.nulls(len(table)))
        place = table.column_names.index("CK18")
        return table.set_column(place, "CK18", pa.array(["x"] * len(table)))

    with pytest.raises(ValueError) as caught:
        CellTable(changed(small, tmp_path, drop))
    for words in ("missing: Plate", "missing: cPARP", "CK18 is string", "extra columns: note"):
        assert words in str(caught.value)
    (tmp_path / "text.parquet").write_text("no table")
    with pytest.raises(ValueError, match=r"text\.parquet is not a parquet table"):
        CellTable(tmp_path / "text.parquet")
    with pytest.raises(FileNotFoundError, match="no table"):
        CellTable(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match="--trust-pickle"):
        CellTable(tmp_path / "cells.pkl")
    whole = small.read_bytes()
    (tmp_path / "half.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"half\.parquet is not a parquet table"):
        CellTable(tmp_path / "half.parquet")


def test_pickles_are_read_only_if_trusted(small, tmp_path):
    frame = parquet.read_table(small).slice(0, 50).to_pandas()
    frame.loc[3, "Date"] = 20220328  # as in the published table
    frame.to_pickle(tmp_path / "cells.pkl")
    with pytest.raises(ValueError, match="can run any code"):
        convert_pickle(tmp_path / "cells.pkl", tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()
    assert convert_pickle(tmp_path / "cells.pkl", tmp_path / "out.parquet", trusted=True) == 50
    assert CellTable(tmp_path / "out.parquet").rows() == 50


def test_text_that_looks_missing_is_text_in_csv_too(small, tmp_path):
    table = parquet.read_table(small).slice(0, 3)
    patients = pa.array(["NA", "nan", "null"])
    table = table.set_column(table.column_names.index("Patient"), "Patient", patients)
    csv.write_csv(table, tmp_path / "a.csv")
    (part,) = CellTable(tmp_path / "a.csv").blocks()
    assert part.metadata["Patient"][1] == ["NA", "nan", "null"]

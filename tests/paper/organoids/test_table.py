"""The table in blocks: formats, memory, and refusals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from tests.helpers.organoids import changed

from pointforms.paper.organoids.conditions import gather
from pointforms.paper.organoids.schema import schema
from pointforms.paper.organoids.table import CellTable


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
    with pytest.raises(ValueError, match="npf pdo convert"):
        CellTable(tmp_path / "cells.pkl")
    whole = small.read_bytes()
    (tmp_path / "half.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"half\.parquet is not a parquet table"):
        CellTable(tmp_path / "half.parquet")


def test_text_that_looks_missing_is_text_in_csv_too(small, tmp_path):
    table = parquet.read_table(small).slice(0, 3)
    dates = pa.array(["NA", "nan", "null"])
    table = table.set_column(table.column_names.index("Date"), "Date", dates)
    csv.write_csv(table, tmp_path / "a.csv")
    (part,) = CellTable(tmp_path / "a.csv").blocks()
    assert part.metadata["Date"][1] == ["NA", "nan", "null"]

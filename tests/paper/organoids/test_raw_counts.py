"""Tables that are not the published one, although their columns are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pointforms.paper.organoids.schema import schema
from pointforms.paper.organoids.table import CellTable


def rows_of(table, tmp_path):
    """Read all blocks of a table, two blocks long."""
    parquet.write_table(table, tmp_path / "cells.parquet", row_group_size=200)
    return sum(len(block) for block in CellTable(tmp_path / "cells.parquet").blocks())


@pytest.fixture(scope="module")
def cells(small):
    return parquet.read_table(small).slice(0, 400)


def with_value(table, name, row, value):
    values = table[name].to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def transformed(table, change):
    for name in schema().markers:
        values = pa.array(change(table[name].to_numpy()))
        table = table.set_column(table.column_names.index(name), name, values)
    return table


@pytest.mark.parametrize(
    ("column", "value", "hint"),
    [
        ("Treatment", "SF ", "did you mean 'SF'?"),
        ("Treatment", "Oxaliplatin", "expected one of 'S', 'F', 'O'"),
        ("Patient", "PDO23", "expected one of '5', '11', '21'"),
        ("Culture", "PDO+F", "did you mean 'PDOF'?"),
        ("Cell_type", "Fib", "did you mean 'Fibs'?"),
        ("Concentration", "5", "expected one of '0', '1', '2', '3', '4'"),
        ("Replicate", "D", "expected one of 'A', 'B'"),
        ("Plate", "slv", "did you mean 'SLV'?"),
        ("Culture", None, "expected one of 'PDO'"),
    ],
)
def test_unknown_values_are_refused(cells, tmp_path, column, value, hint):
    with pytest.raises(ValueError) as caught:
        rows_of(with_value(cells, column, 317, value), tmp_path)
    assert str(caught.value).startswith(f"row 317: {column} is {value or ''!r}: {hint}")


def test_negative_markers_are_refused(cells, tmp_path):
    with pytest.raises(ValueError, match=r"row 251: pRB is -0\.5: expected raw counts"):
        rows_of(with_value(cells, "pRB", 251, -0.5), tmp_path)
    missing = with_value(with_value(cells, "pRB", 3, None), "pRB", 4, float("inf"))
    assert rows_of(missing, tmp_path) == 400  # dropped later, and counted


@pytest.mark.parametrize(
    "change",
    [
        lambda x: np.arcsinh(x / 5),
        np.log1p,
        lambda x: np.log2(1 + x),
        lambda x: x / x.max() if x.max() else x,
    ],
    ids=["asinh", "log", "log2", "share"],
)
def test_transformed_markers_are_refused(cells, tmp_path, change):
    assert rows_of(cells, tmp_path) == 400
    with pytest.raises(ValueError, match=r"markers stay below 20: .* looks transformed already"):
        rows_of(transformed(cells, change), tmp_path)


def test_centred_markers_are_refused(cells, tmp_path):
    def centred(x):
        return np.arcsinh(x / 5) - np.arcsinh(x / 5).mean()

    with pytest.raises(ValueError, match=r"row \d+: pHH3 is -.*transformed or centred"):
        rows_of(transformed(cells, centred), tmp_path)

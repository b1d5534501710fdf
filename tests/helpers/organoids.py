"""Tables of cells with a planted change."""

from __future__ import annotations

from pyarrow import parquet


def changed(table, tmp_path, change, name="changed.parquet"):
    """Write a changed copy of a table."""
    path = tmp_path / name
    parquet.write_table(change(parquet.read_table(table)), path)
    return path

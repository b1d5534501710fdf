"""Tables as files: CSV, or parquet."""

from __future__ import annotations

import os
from pathlib import Path

from pointforms.support.extras import need
from pointforms.support.files import atomic, write_text
from pointforms.support.table import Table


def check_table_path(path: str | os.PathLike[str]) -> None:
    """Raise an error unless a table can be written to a file of this name.

    Examples
    --------
    >>> check_table_path("table.csv")
    >>> check_table_path("table.xlsx")
    Traceback (most recent call last):
    ValueError: 'table.xlsx': expected a name that ends in .csv or .parquet
    """
    if Path(path).suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"{os.fspath(path)!r}: expected a name that ends in .csv or .parquet")


def write_table(table: Table, path: str | os.PathLike[str]) -> None:
    """Write every value of a table, unrounded. The file appears complete or not at all.

    Parameters
    ----------
    table : Table
        The table to write.
    path : path-like
        A .csv or .parquet file. Parent folders are created.
    """
    check_table_path(path)
    if Path(path).suffix.lower() == ".csv":
        write_text(path, table.csv())
        return
    pa = need("pyarrow", "table")
    from pyarrow import parquet

    rows = [dict(row) for row in table.rows]
    with atomic(path) as partial:
        parquet.write_table(pa.Table.from_pylist(rows), partial)

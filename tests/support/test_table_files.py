"""Tables as files."""

from __future__ import annotations

import pyarrow.parquet
import pytest

from pointforms.support.table import Column, Table
from pointforms.support.table_files import write_table

TABLE = Table("Words", [Column("word", "word")], [{"word": "form", "size": 4.25}])


def test_csv_and_parquet_have_every_value(tmp_path):
    write_table(TABLE, tmp_path / "new" / "table.csv")
    assert (tmp_path / "new" / "table.csv").read_text() == "word,size\nform,4.25\n"
    write_table(TABLE, tmp_path / "table.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "table.parquet").to_pylist() == TABLE.rows


def test_other_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"table\.xlsx': expected a name that ends in \.csv"):
        write_table(TABLE, tmp_path / "table.xlsx")
    assert not list(tmp_path.iterdir())

from __future__ import annotations

import pytest
from pyarrow import parquet

from pointforms.paper.organoids.table import CellTable
from pointforms.paper.organoids.trusted_pickle import convert_pickle


def test_pickles_are_read_only_if_trusted(small, tmp_path):
    frame = parquet.read_table(small).slice(0, 50).to_pandas()
    frame.loc[3, "Date"] = 20220328  # as in the published table
    frame.to_pickle(tmp_path / "cells.pkl")
    with pytest.raises(ValueError, match="can run any code"):
        convert_pickle(tmp_path / "cells.pkl", tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()
    assert convert_pickle(tmp_path / "cells.pkl", tmp_path / "out.parquet", trusted=True) == 50
    assert CellTable(tmp_path / "out.parquet").rows() == 50

"""Tables of cells with a planted change, and pickles as pandas 1 wrote them."""

from __future__ import annotations

import copyreg
import pickle

import pandas as pd
from pandas.core.indexes.base import _new_Index
from pandas.core.internals.managers import BlockManager
from pyarrow import parquet


def changed(table, tmp_path, change, name="changed.parquet"):
    """Write a changed copy of a table."""
    path = tmp_path / name
    parquet.write_table(change(parquet.read_table(table)), path)
    return path


class Int64Index:
    """Names a class that pandas 2 no longer has."""


class _Pandas1Pickler(pickle._Pickler):
    """Writes the names and the structure that pandas 1 and NumPy 1 wrote."""

    def __init__(self, file, protocol, before_1_3):
        super().__init__(file, protocol)
        self.before_1_3 = before_1_3

    def reducer_override(self, obj):
        if isinstance(obj, pd.Index) and obj.dtype == "int64":
            return _new_Index, (Int64Index, {"data": obj.to_numpy(), "name": None})
        if isinstance(obj, BlockManager) and self.before_1_3:
            blocks = [{"values": b.values, "mgr_locs": b.mgr_locs.indexer} for b in obj.blocks]
            content = {"axes": obj.axes, "blocks": blocks}
            state = (obj.axes, [], [], {"0.14.1": content})
            return copyreg.__newobj__, (BlockManager,), state
        return NotImplemented

    def save_global(self, obj, name=None):
        module, name = obj.__module__, name or obj.__qualname__
        if obj is Int64Index:
            module = "pandas.core.indexes.numeric"
        self.save(module.replace("numpy._core", "numpy.core"))
        self.save(name)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(obj)

    # the unbound functions of the base class are looked up by type
    dispatch = pickle._Pickler.dispatch | {type(_new_Index): save_global}


def write_pandas1_pickle(frame, file, protocol=4, before_1_3=False):
    """Pickle a table as pandas 1 did, with an Int64Index for its rows.

    Parameters
    ----------
    frame : pandas.DataFrame
    file : binary file
    protocol : int, default 4
    before_1_3 : bool, default False
        Whether to write the blocks as pandas before 1.3 did.
    """
    frame = frame.set_axis(pd.Index(range(len(frame)), dtype="int64").copy(), axis=0)
    frame.index = pd.Index(frame.index.to_numpy())  # no RangeIndex
    _Pandas1Pickler(file, protocol, before_1_3).dump(frame)

"""Conversion of the publisher's pandas pickle, which is read only if it is trusted."""

from __future__ import annotations

import os
from pathlib import Path

from pointforms.paper.organoids.schema import schema
from pointforms.support.extras import need
from pointforms.support.files import atomic


def convert_pickle(
    source: str | os.PathLike[str], out: str | os.PathLike[str], trusted: bool = False
) -> int:
    """Write the table of a pandas pickle as parquet, and return its number of rows.

    A pickle can run any code when it is read. It has to fit into memory: the published one takes
    10 GB.

    Parameters
    ----------
    source : path-like
        The pickle.
    out : path-like
        The .parquet file to write.
    trusted : bool, default False
        Whether the pickle may be read.
    """
    if not trusted:
        raise ValueError(
            f"{os.fspath(source)!r} is a pickle, which can run any code when it is read: "
            "--trust-pickle confirms that you trust its source"
        )
    target = Path(out)
    if target.suffix.lower() != ".parquet":
        raise ValueError(f"{os.fspath(out)!r}: expected a name that ends in .parquet")
    pandas = need("pandas", "sc")
    need("pyarrow", "table")
    frame = pandas.read_pickle(source)
    if not isinstance(frame, pandas.DataFrame):
        raise ValueError(f"{os.fspath(source)!r} holds a {type(frame).__name__}, not a table")
    for name in schema().metadata:
        if name in frame.columns and name != "Batch":
            frame[name] = frame[name].astype(str)  # one date is a number
    with atomic(target) as partial:
        frame.to_parquet(partial, index=False, row_group_size=1 << 17, compression="zstd")
    return len(frame)

"""The publisher's pandas pickle, converted once, and only if it is trusted."""

from __future__ import annotations

import os
from pathlib import Path

from pointforms.paper.organoids.schema import schema
from pointforms.support.extras import need


def convert_pickle(
    source: str | os.PathLike[str], out: str | os.PathLike[str], trusted: bool = False
) -> int:
    """Write the table of a pandas pickle as parquet, and give its rows.

    A pickle can run any code when it is read, so it is read only with `trusted`. It has to fit
    into memory: the published one takes 10 GB.
    """
    if not trusted:
        raise ValueError(
            f"{os.fspath(source)!r} is a pickle, which can run any code when it is read: "
            "--trust-pickle says that you know where it comes from"
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
    half = target.with_name(f".{os.getpid()}-{target.name}")
    try:
        frame.to_parquet(half, index=False, row_group_size=1 << 17, compression="zstd")
        os.replace(half, target)
    finally:
        half.unlink(missing_ok=True)
    return len(frame)

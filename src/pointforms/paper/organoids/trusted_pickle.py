"""Conversion of the publisher's file, a pandas pickle in a zip archive, to parquet."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pointforms.paper.organoids.pickled_frame import PickledFrame, read_frame
from pointforms.paper.organoids.schema import schema
from pointforms.paper.organoids.table import check_columns
from pointforms.support.extras import need
from pointforms.support.files import atomic, check_output
from pointforms.support.formatting import binary_size
from pointforms.support.peak_memory import available_memory

# The pickle in the published archive.
MEMBER = "Metadata_final_paper"
# Memory that a conversion takes: a constant and a share of the pickle's size, measured.
_MEMORY_BASE, _MEMORY_SHARE = 0.3 * 2**30, 0.31
# Rows that are written at once.
_GROUP = 1 << 17


@dataclass(frozen=True)
class PickleSource:
    """A pickle that is a file of its own, or the member of a zip archive.

    Attributes
    ----------
    path : Path
        The file.
    size : int
        Bytes of the pickle, unpacked.
    member : str or None
        Its name in the archive.
    """

    path: Path
    size: int
    member: str | None = None

    def needs(self) -> str:
        """Return a line that says how much memory and scratch space its conversion takes."""
        memory, free = _MEMORY_BASE + _MEMORY_SHARE * self.size, available_memory()
        line = (
            f"Reads {binary_size(self.size)}; takes about {binary_size(memory)} of memory, and up "
            f"to {binary_size(self.size)} of scratch space beside the output."
        )
        if free is not None and free < memory:
            line += f" Only {binary_size(free)} of memory are available: this may fail."
        return line

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open the pickle; a member of an archive is unpacked while it is read."""
        if self.member is None:
            with open(self.path, "rb") as file:
                yield file
        else:
            with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as file:
                yield file


def find_pickle(path: str | os.PathLike[str]) -> PickleSource:
    """Return the pickle in a file: the file itself, or the one member of a zip archive.

    Folders, hidden files and what macOS adds to archives (`__MACOSX`) do not count.

    Parameters
    ----------
    path : path-like
        A pickle or a zip archive.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"no file {os.fspath(path)!r}")
    if not zipfile.is_zipfile(file):
        with open(file, "rb") as start:
            if start.read(4) == b"PK\x03\x04":
                raise ValueError(
                    f"{os.fspath(path)!r} is an incomplete zip archive: download it again"
                )
        return PickleSource(file, file.stat().st_size)
    with zipfile.ZipFile(file) as archive:
        members = [
            one
            for one in archive.infolist()
            if not one.is_dir()
            and not one.filename.startswith("__MACOSX/")
            and not Path(one.filename).name.startswith(".")
        ]
    if len(members) > 1:
        members = [one for one in members if Path(one.filename).name == MEMBER] or members
    if len(members) != 1:
        listed = ", ".join(one.filename for one in members[:5])
        raise ValueError(
            f"{os.fspath(path)!r} has {len(members)} files ({listed}): expected one, {MEMBER!r}"
            if members
            else f"{os.fspath(path)!r} is an empty archive: expected the file {MEMBER!r} in it"
        )
    return PickleSource(file, members[0].file_size, members[0].filename)


def convert_pickle(
    source: PickleSource | str | os.PathLike[str],
    out: str | os.PathLike[str],
    trusted: bool = False,
    advance: Callable[[int], None] = lambda size: None,
) -> int:
    """Write the table of a pandas pickle as parquet, and return its number of rows.

    Numbers go to a scratch file beside `out`, which takes at most the size of the pickle and is
    gone at the end, whatever happens.

    Parameters
    ----------
    source : path-like or PickleSource
        The pickle, or a zip archive with it.
    out : path-like
        The .parquet file to write.
    trusted : bool, default False
        Whether the pickle may be read. Only names that a table needs are looked up in it, but
        pickles are no format for data from strangers.
    advance : callable, optional
        Called with the number of bytes of the pickle whenever some are read.
    """
    if not isinstance(source, PickleSource):
        source = find_pickle(source)
    name = os.fspath(source.path)
    if not trusted:
        raise ValueError(
            f"{name!r} holds a pickle, which can run code when it is read: --trust-pickle confirms "
            "that you trust its source"
        )
    target = Path(out)
    if target.suffix.lower() != ".parquet":
        raise ValueError(f"{os.fspath(out)!r}: expected a name that ends in .parquet")
    check_output(target, source.path)
    need("pyarrow", "table")
    target.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(target.parent).free
    if free < source.size:
        raise ValueError(
            f"{os.fspath(target.parent)!r} has {binary_size(free)} of free space: converting takes "
            f"up to {binary_size(source.size)} of scratch space beside the output"
        )
    with tempfile.TemporaryFile(dir=target.parent) as scratch:
        try:
            with source.open() as file:
                frame = read_frame(file, scratch, advance)  # type: ignore[arg-type]
        except MemoryError:
            raise ValueError(f"{name!r} takes more memory than there is") from None
        except (ValueError, RuntimeError, zipfile.BadZipFile) as error:
            raise ValueError(f"{name!r} holds no table of cells: {error}") from None
        with atomic(target) as partial:
            _write(frame, partial, name)
        return len(frame)


def _write(frame: PickledFrame, path: Path, label: str) -> None:
    from pyarrow import parquet

    writer = None
    try:
        for part in frame.parts(_GROUP):
            table = _arrow(part)
            if writer is None:
                known = schema()
                check_columns(table.schema, (*known.markers, known.optional), label)
                writer = parquet.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise ValueError(f"{label} has no rows")


def _arrow(part: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table(
        {
            name: pa.array(column)
            if isinstance(column, np.ndarray)
            else pa.DictionaryArray.from_arrays(column[0], pa.array(column[1], pa.string())).cast(
                pa.string()
            )
            for name, column in part.items()
        }
    )

"""Files are known by their content: their fits stay theirs wherever the files are.

The row of a file names its path, a digest of its content and how it is read. Two rows that differ
in paths only are one row. Stores keep the paths as they were, since runs may share a store and see
its files at different places; what reads a store compares rows by :func:`without_paths`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from pointforms.bench.records import Key, Record, Row
from pointforms.tasks.catalogue import full_size


@lru_cache(maxsize=1 << 16)
def without_paths(key: str) -> str:
    """Return the key of a row without the paths of its files.

    Parameters
    ----------
    key : str
        The key of a row, which may be one that this version cannot read.

    Examples
    --------
    >>> here, there = (Row(path, "mlp", content="1f") for path in ("a.csv", "b.csv"))
    >>> without_paths(here.key) == without_paths(there.key)
    True
    """
    if '"content":' not in key:
        return key
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        content = json.loads(key)
        if full_size(content["task"]) is None:
            content["task"] = ""
            content.get("reading", {}).pop("samples", None)
            return json.dumps(content, sort_keys=True, separators=(",", ":"))
    return key


def fits_without_paths(fits: Iterable[Key]) -> set[Key]:
    """Return fits (row.key, fold, seed) without the paths of files."""
    return {(without_paths(key), fold, seed) for key, fold, seed in fits}


def records_of(rows: Iterable[Row], records: Iterable[Record]) -> list[Record]:
    """Return the records of some rows, wherever their files were when they were stored.

    Parameters
    ----------
    rows : iterable of Row
        The rows, with the present paths of files, which the records are given.
    records : iterable of Record
        All records of a store.
    """
    wanted = {without_paths(row.key): row for row in rows}
    found = ((wanted.get(without_paths(record.row.key)), record) for record in records)
    return [_of(row, record) for row, record in found if row is not None]


def at_last_paths(records: Sequence[Record], times: Sequence[float]) -> list[Record]:
    """Return records so that every file has one path, at which it was when it was last used.

    Of a fit that is there for several paths, the latest one stays, or one that did not fail.

    Parameters
    ----------
    records : sequence of Record
        All records of a store.
    times : sequence of float
        When each was stored.
    """
    last: dict[str, tuple[float, Row]] = {}
    for record, time in zip(records, times, strict=True):
        file = file_of(record.row)
        if file is not None and time >= last.get(file, (time,))[0]:
            last[file] = time, record.row
    kept: dict[Key, tuple[tuple[bool, float], Record]] = {}
    for record, time in zip(records, times, strict=True):
        file, rank = file_of(record.row), (record.error is None, time)
        if file is not None:
            record = _of(_at(record.row, last[file][1]), record)
        fit = (record.row.key, record.fold, record.seed)
        if fit not in kept or rank > kept[fit][0]:
            kept[fit] = rank, record
    return [kept[fit][1] for fit in sorted(kept)]


def changed_files(rows: Iterable[Row], stored: Collection[Key]) -> list[str]:
    """Return a sentence about each file whose former content has fits in a store.

    Parameters
    ----------
    rows : iterable of Row
        What will be trained.
    stored : collection of tuples (row.key, fold, seed)
        The fits of the store.

    Examples
    --------
    >>> now, before = (Row("cells.csv", "mlp", content=content) for content in ("2e", "1f"))
    >>> changed_files([now], [(before.key, 0, 0)])  # doctest: +ELLIPSIS
    ['cells.csv has changed: 1 fit of its former content is not used, ...']
    """
    files = [row for row in rows if file_of(row) is not None]
    paths = {paths_of(row) for row in files}
    contents = {row.content for row in files}
    counts: Counter[str] = Counter()
    for key, fits in Counter(key for key, _, _ in stored).items() if files else ():
        with suppress(ValueError, TypeError):  # a row of a later version
            row = Row.from_key(key)
            if row.content not in contents and paths_of(row) in paths:
                counts[row.task] += fits
    return [
        f"{Path(task).name} has changed: {count} {'fit' if count == 1 else 'fits'} of its former "
        f"content {'is' if count == 1 else 'are'} not used, and tables show them as another task"
        for task, count in counts.items()
    ]


def paths_of(row: Row) -> tuple[str, str]:
    """The path of a file, and that of the table of samples that is read with it, if any."""
    return row.task, row.reading.get("samples", "")


def file_of(row: Row) -> str | None:
    """What a file is known by: its content and how it is read. None for tasks that have names."""
    if row.content is None or full_size(row.task) is not None:
        return None
    reading = {name: value for name, value in row.reading.items() if name != "samples"}
    return json.dumps([row.content, reading], sort_keys=True)


def _at(row: Row, other: Row) -> Row:
    """A row with the paths of another one of the same file."""
    if paths_of(row) == paths_of(other):
        return row
    reading = dict(row.reading)
    if "samples" in reading:
        reading["samples"] = other.reading["samples"]
    return replace(row, task=other.task, reading=reading)


def _of(row: Row, record: Record) -> Record:
    """A record with another row."""
    return record if row is record.row else replace(record, row=row)

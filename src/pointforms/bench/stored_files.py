"""Files whose fits a store has: those that moved keep their fits, those that changed are named.

The rows of a file name its path and a digest of its content. A file of the same content, at another
path, is the same task if nothing is left at the old path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pointforms.bench.records import Row
from pointforms.bench.store import Key, Store
from pointforms.tasks.catalogue import full_size


@dataclass(frozen=True)
class StoredFiles:
    """What a store knows of the files of some rows under other paths or with other content.

    Attributes
    ----------
    moved : dict of str -> Row
        Rows as they are now, by the keys that they have in the store.
    notes : tuple of str
        What a user should know: one sentence for each file that moved or changed.
    """

    moved: dict[str, Row] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def keys(self, stored: Iterable[Key]) -> set[Key]:
        """Return fits of a store with the rows as they are now."""
        return {(self._now(key), fold, seed) for key, fold, seed in stored}

    def rows(self, stored: Mapping[Row, tuple[int, float]]) -> dict[Row, tuple[int, float]]:
        """Return what is known of rows of a store by the rows as they are now."""
        return {self.moved.get(row.key, row): known for row, known in stored.items()}

    def _now(self, key: str) -> str:
        return self.moved[key].key if key in self.moved else key


def stored_files(rows: Iterable[Row], stored: Collection[Key]) -> StoredFiles:
    """Compare the files of rows with those of a store.

    Parameters
    ----------
    rows : iterable of Row
        What will be trained.
    stored : collection of tuples (row.key, fold, seed)
        The fits of the store.

    Examples
    --------
    >>> here, before = Row("b.csv", "mlp", content="1f"), Row("gone/a.csv", "mlp", content="1f")
    >>> stored_files([here], [(before.key, 0, 0)]).notes
    ("b.csv: the store has fits of the same content at 'gone/a.csv', and they count (1)",)
    """
    here = {row.content: row for row in rows if _is_of_file(row)}
    if not here:
        return StoredFiles()
    fits = Counter(key for key, _, _ in stored)
    contents = {row.task: row.content for row in here.values()}
    moved: dict[str, Row] = {}
    moves: Counter[tuple[str, str]] = Counter()
    changes: Counter[str] = Counter()
    for key, row in _rows_of_files(fits).items():
        now = here.get(row.content)
        if now is not None and _is_gone(row, now):
            moved[key] = _at(row, now)
            moves[row.task, now.task] += fits[key]
        elif contents.get(row.task, row.content) != row.content:
            changes[row.task] += fits[key]
    notes = [
        f"{Path(now).name}: the store has fits of the same content at {before!r}, and they count "
        f"({count})"
        for (before, now), count in moves.items()
    ]
    notes += [
        f"{Path(task).name} has changed: fits of its former content do not count ({count}), and "
        "tables show them as another task"
        for task, count in changes.items()
    ]
    return StoredFiles(moved, tuple(notes))


def follow_files(store: Store, rows: Iterable[Row]) -> tuple[str, ...]:
    """Let the fits of files that moved be those of their present paths; return the notes."""
    found = stored_files(rows, store.keys())
    if found.moved:
        store.rename(found.moved)
    return found.notes


def _is_of_file(row: Row) -> bool:
    return row.content is not None and full_size(row.task) is None


def _rows_of_files(keys: Iterable[str]) -> dict[str, Row]:
    """Rows of files by their keys. Those that a later version wrote may not be readable."""
    rows: dict[str, Row] = {}
    for key in keys:
        with suppress(ValueError, TypeError):
            row = Row.from_key(key)
            if _is_of_file(row):
                rows[key] = row
    return rows


def _files(row: Row) -> tuple[str, str]:
    """The file of a row, and the table of samples that is read with it, if any."""
    return row.task, row.reading.get("samples", "")


def _is_gone(row: Row, now: Row) -> bool:
    """Whether a row names a file that another row of the same content has elsewhere."""
    pairs = zip(_files(row), _files(now), strict=True)
    return any(was != present and not Path(was).exists() for was, present in pairs)


def _at(row: Row, other: Row) -> Row:
    """A row at the path of another one, which has the same content."""
    reading = dict(row.reading)
    if "samples" in reading and "samples" in other.reading:
        reading["samples"] = other.reading["samples"]
    return replace(row, task=other.task, reading=reading)

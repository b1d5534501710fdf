"""The SQLite file of a store: how it is opened, written, copied and closed.

While a run writes, SQLite keeps the newest pages in a log beside the file (`results.db-wal`). They
are moved into the file at every sign of life, when a run ends, and when the last process closes
the file, which then is complete by itself and needs no log, not even to be read.

Everything that SQLite reports about the file is raised as one kind of error, which names the file
and says what to do.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from pointforms.support.files import atomic, check_output

T = TypeVar("T")

SCHEMA = 1
TABLES = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    engine TEXT NOT NULL,
    workers INTEGER NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    machine TEXT NOT NULL,
    version TEXT NOT NULL,
    started REAL NOT NULL,
    seen REAL NOT NULL,  -- the last sign of life
    ended INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE fits (
    row TEXT NOT NULL,
    fold INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    task TEXT NOT NULL,
    model TEXT NOT NULL,
    auroc REAL, accuracy REAL, log_loss REAL, brier REAL, validation_loss REAL,
    train_size INTEGER, test_size INTEGER, parameters INTEGER,
    seconds REAL, memory INTEGER, epochs INTEGER,
    clouds BLOB,         -- int32
    probabilities BLOB,  -- float64, one row per cloud
    error TEXT,
    version TEXT NOT NULL,
    run INTEGER,         -- NULL for imported fits
    finished REAL NOT NULL,
    PRIMARY KEY (row, fold, seed)
);
CREATE INDEX fits_of_models ON fits (task, model);
CREATE TABLE claims (
    row TEXT NOT NULL,
    fold INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    run INTEGER NOT NULL REFERENCES runs (id),
    PRIMARY KEY (row, fold, seed)
);
"""
#: Columns of fits that stores of earlier versions lack. Readers take them as NULL, and the first
#: who stores a fit adds them. The schema keeps its number: earlier versions name the columns that
#: they read and write, and can go on using the file.
LATER_COLUMNS = {"brier": "REAL"}
_PATIENCE = 60.0  # seconds to wait for other writers
_LOG, _JOURNAL = "-wal", "-journal"
_COMPANIONS = (_LOG, _JOURNAL, "-shm")  # what SQLite may keep beside a file
# What SQLite reports, by its code, and what to do about it.
_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full: make room and try again; finished fits are kept",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written: see whether it is full or broken",
    sqlite3.SQLITE_BUSY: "another process has locked it: wait for that process, or end it",
    sqlite3.SQLITE_CORRUPT: "it is damaged: restore a copy, or move it away and train again",
    sqlite3.SQLITE_READONLY: "it cannot be written here: `npf export` makes a copy elsewhere",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: see whether you may read and write it",
}
_ADVICE[sqlite3.SQLITE_LOCKED] = _ADVICE[sqlite3.SQLITE_BUSY]
# A process that was killed may leave changes beside the file, which need a folder to write in.
_LEFT = (
    "its last changes are in {!r}, which cannot be used here: run `npf sweep` on it, or on a copy "
    "of both files in a folder where you may write"
)


class StoreError(ValueError):
    """A file that cannot be used as a store, now or at all: the message says why."""


class StoreFile:
    """One connection to the file of a store, which threads may share.

    Parameters
    ----------
    path : path-like
        A SQLite file.
    create : bool, default True
        Whether to make the file, and missing parent folders, if it does not exist.
    read_only : bool, default False
        Whether to open an existing file without writing anything, in it or beside it.
    """

    def __init__(
        self, path: str | os.PathLike[str], create: bool = True, read_only: bool = False
    ) -> None:
        self.path, self.read_only = Path(path), read_only
        create = create and not read_only
        if not self.path.exists():
            if not create:
                raise FileNotFoundError(f"no store {os.fspath(path)!r}: `npf sweep` makes one")
            check_output(self.path)
            self.path.parent.mkdir(parents=True, exist_ok=True)
        elif self.path.is_dir():
            raise StoreError(f"{os.fspath(path)!r} is a folder: expected a SQLite file")
        # one connection for all threads of a run, one statement at a time
        self._lock = threading.RLock()
        self._has_log = False  # until something is written
        self._mode = "ro" if read_only else "rwc" if create else "rw"
        self._connect()
        try:
            empty = self._read(self._check)
            if empty and not create:
                raise StoreError(f"{os.fspath(path)!r} is not a store: it is empty")
            if empty:
                self._make_tables()
        except BaseException:
            self._db.close()
            raise

    def _connect(self) -> None:
        self._at_rest = self._state() if self.read_only else None
        mode = self._mode if self._at_rest is None else "ro&immutable=1"
        with explained(self.path):
            self._db = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=_PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )

    def _check(self) -> bool:
        """Whether the file is empty; raise an error if it is not a store, or is damaged.

        Looking for damage reads the whole file. Readers are told about damage in what they read.
        """
        # in one snapshot: another run may be making the file
        with self._transaction("DEFERRED"):
            empty = self._is_empty()
            if not self.read_only:
                self._check_whole_file()
        return empty

    def _check_whole_file(self) -> None:
        (verdict,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise damaged(self.path, verdict.splitlines()[-1])

    def _make_tables(self) -> None:
        with self._transaction():
            if self._is_empty():
                for statement in TABLES.split(";\n"):
                    if statement.strip():
                        self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {SCHEMA}")
        self.checkpoint()

    def _is_empty(self) -> bool:
        """Whether the file is empty; raise an error if it is not a store."""
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master")}
        if version == 0 and not tables:
            return True
        if version != SCHEMA or not {"runs", "fits", "claims"} <= tables:
            raise StoreError(
                f"{os.fspath(self.path)!r} is not a store of this version: its schema is "
                f"{version}, expected {SCHEMA}"
            )
        return False

    def _use_log(self) -> None:
        """Turn on write-ahead logging. SQLite does not wait for others who do the same; we do."""
        self._db.execute("PRAGMA synchronous = NORMAL")
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._has_log = True
                return
            except sqlite3.OperationalError as error:
                if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
            time.sleep(0.05)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- reading ----------------------------------------------------------------------------

    def _state(self) -> tuple[int, ...] | None:
        """What tells whether the file changes, if nothing lies beside it; otherwise None.

        Nobody is changing such a file. SQLite could want to make a log to read it, which writes
        beside the file and fails on read-only media, unless it is told that the file is at rest.
        Its header says so, but must not be looked at: closing a file ends all locks of the process.
        """
        if any(_beside(self.path, ending).exists() for ending in (_LOG, _JOURNAL)):
            return None
        stat = self.path.stat()
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    def _read(self, action: Callable[[], T]) -> T:
        """Return the result of an action; of another try if the file was not at rest after all."""
        with self._lock:
            while True:
                try:
                    with explained(self.path):
                        result = action()
                    if self._at_rest in (None, self._state()):
                        return result
                except StoreError:
                    if self._at_rest in (None, self._state()):
                        raise
                self._db.close()
                self._connect()

    def _query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._read(lambda: self._db.execute(statement, values).fetchall())

    def _missing_columns(self) -> list[str]:
        """The columns of fits that this file does not have yet."""
        present = {column for _, column, *_ in self._query("PRAGMA table_info(fits)")}
        return [name for name in LATER_COLUMNS if name not in present]

    def copy(self, path: str | os.PathLike[str]) -> None:
        """Write a complete copy of the store, also while runs write to it.

        The copy is of one moment and consists of one file. Claims of runs stay with the store.

        Parameters
        ----------
        path : path-like
            The file to write, which must not exist.

        Examples
        --------
        >>> import tempfile
        >>> from pointforms.bench import Store
        >>> folder = tempfile.mkdtemp()
        >>> with Store(f"{folder}/results.db") as store:
        ...     store.copy(f"{folder}/copy.db")
        >>> Store(f"{folder}/copy.db", read_only=True).records()
        []
        """
        target = Path(path)
        for file in (target, *(_beside(target, ending) for ending in _COMPANIONS)):
            if file.exists():
                raise FileExistsError(f"{os.fspath(file)!r} exists: choose another name for a copy")
        with atomic(target) as partial, explained(target):
            try:
                with closing(sqlite3.connect(partial, isolation_level=None)) as copied:
                    self._read(lambda: self._copy(copied, target))
                    copied.execute("DELETE FROM claims")
                    copied.execute("PRAGMA journal_mode = DELETE")
            finally:
                for ending in _COMPANIONS:  # only a failure leaves them
                    _beside(partial, ending).unlink(missing_ok=True)

    def _copy(self, copied: sqlite3.Connection, target: Path) -> None:
        with self._transaction("DEFERRED"):
            # this also locks it: `backup` would wait for another's lock without end
            self._check_whole_file()
            with explained(target):
                self._db.backup(copied)

    # --- writing ----------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[None]:
        """Do everything inside the block or nothing, while no other run writes.

        A "DEFERRED" transaction is for reading: it sees one moment of the file.
        """
        with self._lock, explained(self.path):
            if kind == "IMMEDIATE" and not self._has_log:  # not before: some only want to read
                self._use_log()
            self._db.execute(f"BEGIN {kind}")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # some errors have ended it already
                    self._db.execute("ROLLBACK")
                raise

    def _add_missing_columns(self) -> None:
        """Bring the table of fits up to date, inside a transaction of the caller."""
        for name in self._missing_columns():
            self._db.execute(f"ALTER TABLE fits ADD COLUMN {name} {LATER_COLUMNS[name]}")

    def checkpoint(self) -> None:
        """Move what is in the log into the file, as far as no other process is reading it."""
        # what cannot be moved now is safe in the log
        with self._lock, suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Close the file. If no other process has it open, it is complete without a log."""
        with self._lock:
            if self._has_log:
                self.checkpoint()
                with suppress(sqlite3.Error):  # another process has it open, and will do this
                    self._db.execute("PRAGMA journal_mode = DELETE")
            self._db.close()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise what SQLite reports about a file as a StoreError that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = _code(error)
        if code is None:  # a mistake in a statement, not in the file
            raise
        raise StoreError(_message(path, code, str(error))) from error


def damaged(path: Path, reason: str) -> StoreError:
    """Return the error about a file whose content makes no sense."""
    return StoreError(_message(path, sqlite3.SQLITE_CORRUPT, reason))


def _code(error: sqlite3.Error) -> int | None:
    """The primary code of an error of SQLite, such as SQLITE_BUSY; None for other errors."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return int(code) & 0xFF
    # Python itself raises one of this kind: for text that is not UTF-8
    return sqlite3.SQLITE_CORRUPT if isinstance(error, sqlite3.OperationalError) else None


def _message(path: Path, code: int, reason: str) -> str:
    label = repr(os.fspath(path))
    if code == sqlite3.SQLITE_NOTADB:
        return f"{label} is not a store: {reason}"
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        for ending in (_LOG, _JOURNAL):
            if _beside(path, ending).exists():
                return f"{label}: {_LEFT.format(_beside(path, ending).name)} ({reason})"
    advice = _ADVICE.get(code, "it cannot be used as a store")
    return f"{label}: {advice} ({reason})"


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)

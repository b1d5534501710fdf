"""Fits in one SQLite file, which several runs may share, and any run may stop at any moment.

A run claims a unit before it trains it, and writes all fits of the unit in one transaction, so
that a unit is stored completely or not at all. Claims of a run that has died are free for others.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from platform import node
from typing import Any, Literal

import numpy as np

from pointforms._version import __version__
from pointforms.bench.records import NUMBERS, Record, Row, Unit
from pointforms.bench.run_history import Run, is_alive, machine

_SCHEMA = 1
_TABLES = """
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
    auroc REAL, accuracy REAL, log_loss REAL, validation_loss REAL,
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
_RECORD = tuple(one.name for one in fields(Record))
_PATIENCE = 60.0  # seconds to wait for other writers

Key = tuple[str, int, int]  # row, fold, seed


class Store:
    """A store of fits on disk.

    Parameters
    ----------
    path : path-like
        A SQLite file.
    create : bool, default True
        Whether to make the file if it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> from pointforms.bench import Record, Row
    >>> folder = tempfile.mkdtemp()
    >>> with Store(f"{folder}/results.db") as store:
    ...     new = store.finish(None, [Record(Row("colocated", "mlp"), fold=0, seed=0, auroc=0.8)])
    ...     [(record.row.model, record.auroc) for record in store.records()]
    [('mlp', 0.8)]
    """

    def __init__(self, path: str | os.PathLike[str], create: bool = True) -> None:
        self.path = Path(path)
        if not self.path.exists():
            if not create:
                raise FileNotFoundError(f"no store {os.fspath(path)!r}: `npf sweep` makes one")
            if not self.path.parent.is_dir():
                raise FileNotFoundError(f"no folder {os.fspath(self.path.parent)!r} for a store")
        elif self.path.is_dir():
            raise ValueError(f"{os.fspath(path)!r} is a folder: expected a SQLite file")
        # one connection for all threads of a run, one statement at a time
        self._lock = threading.RLock()
        try:
            self._db = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise ValueError(f"{os.fspath(path)!r} cannot be opened as a store: {error}") from None
        try:
            self._open(create)
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise ValueError(f"{os.fspath(path)!r} is not a store: {error}") from None
        except BaseException:
            self._db.close()
            raise

    def _open(self, create: bool) -> None:
        # read in one snapshot before anything is written: another run may be making the file
        with self._transaction("DEFERRED"):
            empty = self._is_empty()
        if empty and not create:
            raise ValueError(f"{os.fspath(self.path)!r} is not a store: it is empty")
        self._db.execute("PRAGMA synchronous = NORMAL")
        if not empty:
            return  # nothing is written: the caller may only want to read
        self._use_wal()
        with self._transaction():
            if self._is_empty():
                for statement in _TABLES.split(";\n"):
                    if statement.strip():
                        self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {_SCHEMA}")

    def _is_empty(self) -> bool:
        """Whether the file is empty; raise an error if it is not a store."""
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master")}
        if version == 0 and not tables:
            return True
        if version != _SCHEMA or not {"runs", "fits", "claims"} <= tables:
            raise ValueError(
                f"{os.fspath(self.path)!r} is not a store of this version: its schema is "
                f"{version}, expected {_SCHEMA}"
            )
        return False

    def _use_wal(self) -> None:
        """Turn on write-ahead logging. SQLite does not wait for others who do the same; we do."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
            time.sleep(0.05)

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[None]:
        """Do everything inside the block or nothing, while no other run writes.

        A "DEFERRED" transaction is for reading: it sees one moment of the file.
        """
        with self._lock:
            self._db.execute(f"BEGIN {kind}")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # some errors have ended it already
                    self._db.execute("ROLLBACK")
                raise

    def _query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(statement, values).fetchall()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- runs -------------------------------------------------------------------------------

    def begin(self, title: str, engine: str, workers: int) -> int:
        """Register a run and return its number."""
        now = time.time()
        with self._transaction():
            cursor = self._db.execute(
                "INSERT INTO runs (title, engine, workers, host, pid, machine, version, started, "
                "seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (title, engine, workers, node(), os.getpid(), machine(), __version__, now, now),
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def beat(self, run: int, workers: int | None = None) -> None:
        """Record a sign of life of a run, and its number of workers if that has grown."""
        with self._transaction():
            self._db.execute("UPDATE runs SET seen = ? WHERE id = ?", (time.time(), run))
            if workers is not None:
                self._db.execute(
                    "UPDATE runs SET workers = max(workers, ?) WHERE id = ?", (workers, run)
                )

    def end(self, run: int) -> None:
        """Record the end of a run; units that it had claimed and not finished become free."""
        with self._transaction():
            self._db.execute("DELETE FROM claims WHERE run = ?", (run,))
            self._db.execute("UPDATE runs SET seen = ?, ended = 1 WHERE id = ?", (time.time(), run))

    def runs(self) -> list[Run]:
        """Return the runs, in the order in which they started."""
        names = ", ".join(one.name for one in fields(Run))
        rows = self._query(f"SELECT {names} FROM runs ORDER BY id")
        return [Run(*row) for row in rows]

    # --- units ------------------------------------------------------------------------------

    def claim(
        self, run: int, unit: Unit, retry: bool = False
    ) -> Unit | Literal["finished", "busy"]:
        """Claim the missing fits of a unit for a run.

        Parameters
        ----------
        run : int
            The number of the run.
        unit : Unit
            What the run wants to train.
        retry : bool, default False
            Whether fits that failed in another run count as missing.

        Returns
        -------
        Unit or {"finished", "busy"}
            The missing fits; "finished" if there are none, "busy" if another run has claimed some.
        """
        key = unit.row.key
        with self._transaction():
            done = {
                (fold, seed)
                for fold, seed, failed, by in self._db.execute(
                    "SELECT fold, seed, error IS NOT NULL, run FROM fits WHERE row = ?", (key,)
                )
                if not (retry and failed and by != run)
            }
            missing = tuple(fit for fit in unit.fits if fit not in done)
            if not missing:
                return "finished"
            self._forget_the_dead()
            taken = set(self._db.execute("SELECT fold, seed FROM claims WHERE row = ?", (key,)))
            if taken & set(missing):
                return "busy"
            self._db.executemany(
                "INSERT INTO claims VALUES (?, ?, ?, ?)",
                [(key, fold, seed, run) for fold, seed in missing],
            )
        return Unit(unit.row, missing)

    def _forget_the_dead(self) -> None:
        claiming = self._db.execute(
            "SELECT DISTINCT id, host, pid, seen FROM runs JOIN claims ON runs.id = claims.run"
        ).fetchall()
        for run, host, pid, seen in claiming:
            if not is_alive(host, pid, seen):
                self._db.execute("DELETE FROM claims WHERE run = ?", (run,))

    def finish(self, run: int | None, records: Iterable[Record]) -> int:
        """Store the fits of a unit in one transaction, and release the claims on them.

        A finished fit that is already stored stays; a failed one is replaced.

        Parameters
        ----------
        run : int or None
            The number of the run; None for imported fits.
        records : iterable of Record
            The fits.

        Returns
        -------
        int
            Number of fits that are new.
        """
        names = (*_RECORD, "task", "model", "run", "finished")
        marks = ", ".join("?" * len(names))
        statement = (
            f"INSERT INTO fits ({', '.join(names)}) VALUES ({marks}) "
            "ON CONFLICT (row, fold, seed) DO UPDATE SET "
            + ", ".join(f"{name} = excluded.{name}" for name in names)
            + " WHERE fits.error IS NOT NULL"
        )
        now, records = time.time(), list(records)
        with self._transaction():
            before = self._db.total_changes
            for record in records:
                content = [_packed(getattr(record, name)) for name in _RECORD]
                self._db.execute(statement, (*content, record.row.task, record.row.model, run, now))
            written = self._db.total_changes - before
            if run is not None:
                self._db.executemany(
                    "DELETE FROM claims WHERE row = ? AND fold = ? AND seed = ? AND run = ?",
                    [(r.row.key, r.fold, r.seed, run) for r in records],
                )
        return written

    # --- queries ----------------------------------------------------------------------------

    def keys(self, failed: bool = True) -> frozenset[Key]:
        """Return the fits in the store as (row.key, fold, seed).

        Parameters
        ----------
        failed : bool, default True
            Whether to include fits that failed.
        """
        statement = "SELECT row, fold, seed FROM fits"
        return frozenset(self._query(statement + ("" if failed else " WHERE error IS NULL")))  # type: ignore[arg-type]

    def claimed(self) -> int:
        """Return the number of fits that live runs are working on."""
        with self._transaction():
            self._forget_the_dead()
        return int(self._query("SELECT count(*) FROM claims")[0][0])

    def records(self, predictions: bool = True, task: str | None = None) -> list[Record]:
        """Return the fits, ordered by row, fold and seed.

        Parameters
        ----------
        predictions : bool, default True
            Whether to read the predictions of every fit too.
        task : str, optional
            Return only the fits of this task.
        """
        wanted = [
            name if predictions or name not in ("clouds", "probabilities") else f"NULL AS {name}"
            for name in _RECORD
        ]
        where, values = ("", ()) if task is None else (" WHERE task = ?", (task,))
        contents = self._query(
            f"SELECT {', '.join(wanted)} FROM fits{where} ORDER BY row, fold, seed", values
        )
        rows: dict[str, Row] = {}
        return [_record(dict(zip(_RECORD, content, strict=True)), rows) for content in contents]

    def seconds(self) -> dict[tuple[str, str], float]:
        """Return the mean seconds per fit, by task and model."""
        rows = self._query(
            "SELECT task, model, avg(seconds) FROM fits WHERE error IS NULL "
            "AND seconds IS NOT NULL GROUP BY task, model"
        )
        return {(task, model): mean for task, model, mean in rows}


def _packed(value: Any) -> Any:
    if isinstance(value, Row):
        return value.key
    if isinstance(value, np.ndarray):
        return value.astype(np.int32 if value.dtype.kind == "i" else np.float64).tobytes()
    if isinstance(value, float) and np.isnan(value):
        return None
    return value


def _record(content: dict[str, Any], rows: dict[str, Row]) -> Record:
    key = content["row"]
    content["row"] = rows.setdefault(key, Row.from_key(key))
    for name in NUMBERS:
        content[name] = np.nan if content[name] is None else content[name]
    if content["clouds"] is not None:
        content["clouds"] = np.frombuffer(content["clouds"], dtype=np.int32)
        flat = np.frombuffer(content["probabilities"], dtype=np.float64)
        content["probabilities"] = flat.reshape(len(content["clouds"]), -1)
    return Record(**content)

"""Fits in one SQLite file, which several runs may share, and any run may stop at any moment.

A run claims a unit before it trains it, and writes all fits of the unit in one transaction, so
that a unit is stored completely or not at all. Claims of a run that has died are free for others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields
from platform import node
from typing import Any, Literal

import numpy as np

from pointforms._version import __version__
from pointforms.bench.moved_files import at_last_paths
from pointforms.bench.records import NUMBERS, Key, Record, Row, Unit
from pointforms.bench.run_history import COMPLETE, STOPPED, Run, Vigil, is_alive, machine
from pointforms.bench.store_file import StoreFile, damaged

_RECORD = tuple(one.name for one in fields(Record))
_KINDS: dict[str, type] = {  # of the columns, where they are not NULL
    "row": str, "error": str, "version": str, "clouds": bytes, "probabilities": bytes,
    **dict.fromkeys(NUMBERS, float),
}  # fmt: skip
_CLAIMING = (
    "SELECT id, host, pid, seen, count(*) FROM runs JOIN claims ON runs.id = claims.run GROUP BY id"
)


class Store(StoreFile):
    """A store of fits on disk.

    Parameters
    ----------
    path : path-like
        A SQLite file.
    create : bool, default True
        Whether to make the file, and missing parent folders, if it does not exist.
    read_only : bool, default False
        Whether to open an existing file without writing anything, in it or beside it.

    Raises
    ------
    ValueError
        Also from the methods: if the file is no store, is damaged or locked, or the disk is full.

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

    def __init__(
        self, path: str | os.PathLike[str], create: bool = True, read_only: bool = False
    ) -> None:
        super().__init__(path, create, read_only)
        self._vigil = Vigil()

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
        """Record a sign of life of a run, and its number of workers if that has grown.

        The file is then brought up to date, so that one that is copied after a kill lacks little.
        """
        with self._transaction():
            self._db.execute("UPDATE runs SET seen = ? WHERE id = ?", (time.time(), run))
            if workers is not None:
                self._db.execute(
                    "UPDATE runs SET workers = max(workers, ?) WHERE id = ?", (workers, run)
                )
        self.checkpoint()

    def end(self, run: int, stopped: bool = False) -> None:
        """Record that a run is complete or was stopped; units that it had claimed become free."""
        with self._transaction():
            self._db.execute("DELETE FROM claims WHERE run = ?", (run,))
            end = STOPPED if stopped else COMPLETE
            self._db.execute(
                "UPDATE runs SET seen = ?, ended = ? WHERE id = ?", (time.time(), end, run)
            )
        self.checkpoint()

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
        for run, host, pid, seen, _ in self._db.execute(_CLAIMING).fetchall():
            if self._vigil.is_over(run, host, pid, seen):
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
            self._add_missing_columns()
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
        claiming = self._query(_CLAIMING)
        return sum(fits for _, host, pid, seen, fits in claiming if is_alive(host, pid, seen))

    def records(self, predictions: bool = True) -> list[Record]:
        """Return the fits, ordered by row, fold and seed.

        A file that moved has the path at which it was last, in all of its fits.

        Parameters
        ----------
        predictions : bool, default True
            Whether to read the predictions of every fit too.
        """
        left_out = set(self._missing_columns())
        left_out |= set() if predictions else {"clouds", "probabilities"}
        wanted = [f"NULL AS {name}" if name in left_out else name for name in _RECORD]
        contents = self._query(
            f"SELECT finished, {', '.join(wanted)} FROM fits ORDER BY row, fold, seed"
        )
        rows: dict[str, Row] = {}
        try:
            found = [
                _record(dict(zip(_RECORD, content, strict=True)), rows) for _, *content in contents
            ]
        except (ValueError, TypeError) as error:  # SQLite does not check what is inside a page
            raise damaged(self.path, f"a record cannot be read: {error}") from error
        return at_last_paths(found, [time or 0.0 for time, *_ in contents])

    def seconds(self) -> dict[Row, tuple[int, float]]:
        """Return the number and the mean seconds of fits that were trained here, by row.

        Fits that failed, were imported or were trained on another machine do not count, nor do
        rows that cannot be read: a later version may have written them.
        """
        found = self._query(
            "SELECT row, count(*), avg(seconds) FROM fits WHERE error IS NULL "
            "AND typeof(seconds) = 'real' AND seconds > 0 "
            "AND run IN (SELECT id FROM runs WHERE machine = ?) GROUP BY row",
            (machine(),),
        )
        rows: dict[Row, tuple[int, float]] = {}
        for key, fits, mean in found:
            with suppress(ValueError, TypeError):
                rows[Row.from_key(key)] = fits, mean
        return rows


def _packed(value: Any) -> Any:
    if isinstance(value, Row):
        return value.key
    if isinstance(value, np.ndarray):
        return value.astype(np.int32 if value.dtype.kind == "i" else np.float64).tobytes()
    if isinstance(value, float) and np.isnan(value):
        return None
    return value


def _record(content: dict[str, Any], rows: dict[str, Row]) -> Record:
    for name, value in content.items():
        if value is not None and not isinstance(value, _KINDS.get(name, int)):
            raise ValueError(f"{name} is {type(value).__name__}")
    key = content["row"]
    content["row"] = rows.setdefault(key, Row.from_key(key))
    for name in NUMBERS:
        content[name] = np.nan if content[name] is None else content[name]
    if content["clouds"] is not None:
        content["clouds"] = np.frombuffer(content["clouds"], dtype=np.int32)
        flat = np.frombuffer(content["probabilities"], dtype=np.float64)
        content["probabilities"] = flat.reshape(len(content["clouds"]), -1)
    return Record(**content)

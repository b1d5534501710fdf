"""Sweeps, and writers of stores, that are killed again and again, and what is left of them."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from pointforms.bench.manifest import read_manifest
from pointforms.bench.records import Record, Row, Unit
from pointforms.bench.store import Store

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
VICTIMS = ("main process", "worker")
_PATIENCE = 300.0  # seconds after which something hangs
_WHOLE = 3  # fits of a unit of the writers
_ENOUGH = 12  # units that have to be left when a sweep starts
_MANIFEST = """
title = "Killed"
folds = 5
seeds = {seeds}
[[sweep]]
tasks = ["circles-vs-lines"]
models = ["npf-tri-1", "npf-flat-1", "mlp"]
clouds = 40
points = 24
together = 2
[sweep.options]
epochs = 40
patience = 40
[[sweep]]  # its libraries take long to import, and leave temporary files
tasks = ["circles-vs-lines"]
models = ["gcn"]
clouds = 40
points = 24
folds = 1
together = 2
"""


@dataclass
class Battery:
    """One store, and a sweep on it that is killed.

    The manifest gets more seeds when the sweep runs out of work, so that every kill finds some.
    """

    folder: Path
    seed: int = 0
    seeds: int = 2
    starts: int = 0
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    training: int = 0  # kills that found fits being trained

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()
        (self.folder / "stores").mkdir()
        self.path = self.folder / "stores" / "killed.db"
        self.began: float | None = None  # when a sweep started that has not trained yet
        self.warm_up = 5.0  # seconds from the start of a sweep to its first fit

    # --- sweeps -----------------------------------------------------------------------------

    def units(self) -> Any:
        manifest = self.folder / "killed.toml"
        manifest.write_text(_MANIFEST.format(seeds=self.seeds))
        return read_manifest(manifest).units()

    def sweep(self, path: Path) -> subprocess.Popen[bytes]:
        """Start `npf sweep` with temporary files in our folder."""
        command = [sys.executable, "-m", "pointforms", "sweep", self.folder / "killed.toml"]
        with open(self.folder / "output.txt", "ab") as output:
            return subprocess.Popen(
                [*command, "--store", path, "--workers", "2", "--retry"],
                stdout=output,
                stderr=output,
                env=os.environ | {"TMPDIR": str(self.temporary), "OMP_NUM_THREADS": "1"},
            )

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask the store as it lies on disk, without mending anything."""
        try:
            db = sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)
            try:
                return db.execute(query, values).fetchall()
            finally:
                db.close()
        except sqlite3.OperationalError:  # not there yet, or left in the middle of its making
            return []

    def trains(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether the sweep has claims, and a worker has prepared what it trains on."""
        query = "SELECT started FROM claims JOIN runs ON run = id WHERE pid = ? AND NOT ended"
        started = self.ask(query, process.pid)
        prepared = self.temporary.glob("pointforms-*/[!.]*.pt")
        return bool(started) and any(_changed(file) > started[0][0] for file in prepared)

    def check(self) -> None:
        """Every unit is there as a whole or not at all, in a file that is sound."""
        fits = set(self.ask("SELECT row, fold, seed FROM fits"))
        assert self.ask("PRAGMA integrity_check") in ([], [("ok",)])
        for unit in self.units():
            assert len({(unit.row.key, *fit) in fits for fit in unit.fits}) == 1

    # --- kills ------------------------------------------------------------------------------

    def run(self, kills: int) -> None:
        """Make so many kills, let the sweep end, and compare it with one that nobody disturbed."""
        process: subprocess.Popen[bytes] | None = None
        plan: list[tuple[signal.Signals, str]] = []
        while self.kills.total() < kills:
            if process is None or process.poll() is not None:
                self._ended()
                process = self._started()
            if not plan:  # every kind comes equally often
                kinds = list(product(SIGNALS, VICTIMS))
                plan = [kinds[i] for i in self.rng.permutation(len(kinds))]
            if self._kill(process, *plan[-1]):
                plan.pop()
        if process is not None:
            process.wait(_PATIENCE)
        self._ended()
        self._compare()

    def _started(self) -> subprocess.Popen[bytes]:
        done = set(self.ask("SELECT row, fold, seed FROM fits WHERE error IS NULL"))
        while sum((unit.row.key, *unit.fits[0]) not in done for unit in self.units()) < _ENOUGH:
            self.seeds += 2
        self.starts += 1
        self.began = time.monotonic()
        return self.sweep(self.path)

    def _kill(self, process: subprocess.Popen[bytes], number: int, victim: str) -> bool:
        """Send a signal at a random moment; return whether there was anybody to send it to."""
        if victim == "main process" and self.rng.random() < 0.25:  # whatever it is doing
            time.sleep(self.rng.uniform(0, 1.2 * self.warm_up))
        else:  # while it trains
            wait_until(lambda: self.trains(process) or process.poll() is not None)
            if self.began is not None:
                self.warm_up, self.began = time.monotonic() - self.began, None
            time.sleep(self.rng.uniform(0, 1.0))
        training = self.trains(process)
        pids = [process.pid] if victim == "main process" else workers(process.pid)
        if process.poll() is not None or not pids:
            return False
        try:
            os.kill(int(self.rng.choice(pids)), number)
        except ProcessLookupError:
            return False
        self.kills[signal.Signals(number).name, victim] += 1
        self.training += training
        if victim == "main process":
            process.wait(_PATIENCE)
            if training and number != signal.SIGKILL:  # it ended in order: the file is complete
                assert not self.path.with_name(f"{self.path.name}-wal").exists()
        return True

    def _ended(self) -> None:
        wait_until(lambda: not processes(self.temporary))
        if self.path.exists():
            self.check()

    # --- the end ----------------------------------------------------------------------------

    def _compare(self) -> None:
        units = self.units()
        wanted = {(unit.row.key, *fit) for unit in units for fit in unit.fits}
        undisturbed = self.folder / "undisturbed.db"
        for path in (self.path, undisturbed):
            assert self.sweep(path).wait() == 0, (self.folder / "output.txt").read_text()[-2000:]
        with Store(self.path, read_only=True) as store:
            found, runs = store.records(), store.runs()
        with Store(undisturbed, read_only=True) as store:
            expected = store.records()
        assert {(r.row.key, r.fold, r.seed) for r in found} == wanted
        assert len(found) == len(expected) == len(wanted)
        for ours, theirs in zip(found, expected, strict=True):
            assert (ours.row, ours.fold, ours.seed) == (theirs.row, theirs.fold, theirs.seed)
            assert ours.error is None
            assert ours.clouds.tobytes() == theirs.clouds.tobytes()
            assert ours.probabilities.tobytes() == theirs.probabilities.tobytes()
            assert ours.validation_loss == theirs.validation_loss
        assert self.ask("SELECT * FROM claims") == []
        assert runs[-1].state == "ended"
        wait_until(lambda: not processes(self.temporary))
        assert list(self.temporary.iterdir()) == []
        # nothing beside the store but its log for people
        assert sorted(os.listdir(self.path.parent)) == ["killed.db", "killed.db.log"]
        self.fits = len(found)

    def report(self) -> str:
        """Say how many kills of which kind were made."""
        kinds = ", ".join(f"{n} × {name} to a {whom}" for (name, whom), n in self.kills.items())
        return (
            f"{self.kills.total()} kills ({kinds}), {self.training} of them while fits were being "
            f"trained, in {self.starts} sweeps; all {self.fits} fits equal to the undisturbed ones"
        )


def kill_writers(path: Path, kills: int, seed: int = 0) -> None:
    """Kill processes that open, fill and close a store over and over; check it after each kill."""
    rng = np.random.default_rng(seed)
    before = 0
    for _ in range(kills):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(write, b"now")
                _write_without_end(path)
            finally:
                os._exit(1)
        os.read(read, 3)
        os.close(read)
        os.close(write)
        time.sleep(rng.uniform(0, 0.1))
        os.kill(child, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        with Store(path) as store:  # it is sound, or this raises an error
            whole = Counter(record.seed // _WHOLE for record in store.records())
        assert set(whole.values()) <= {_WHOLE}
        assert len(whole) >= before  # nothing is lost
        before = len(whole)
    assert before > 0


def _write_without_end(path: Path) -> None:
    row = Row("circles-vs-lines", "mlp")
    while True:
        with Store(path) as store:
            run = store.begin("", "local", 1)
            first = len(store.keys()) // _WHOLE
            for number in range(first, first + 4):
                unit = Unit(row, tuple((0, _WHOLE * number + i) for i in range(_WHOLE)))
                assert store.claim(run, unit) == unit
                store.finish(run, [Record(row, *fit, auroc=0.5) for fit in unit.fits])
            store.end(run)


def wait_until(true: Callable[[], object]) -> None:
    """Wait for something to become true; fail if it does not."""
    end = time.monotonic() + _PATIENCE
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def workers(parent: int) -> list[int]:
    """Return the processes that train for a sweep."""
    return [
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if _read(folder / "stat").rpartition(b")")[2].split()[1:2] == [str(parent).encode()]
        and b"spawn_main" in _read(folder / "cmdline")
    ]


def processes(temporary: Path) -> list[int]:
    """Return the processes whose temporary files are in a folder, or were meant to be."""
    mark = f"TMPDIR={temporary}".encode()
    return [
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if any(entry == mark for entry in _read(folder / "environ").split(b"\0"))
    ]


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # it has just been removed
        return 0.0


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # it has just ended, or is another user's
        return b""

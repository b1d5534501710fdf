"""The file of a store: complete by itself, safe to copy, never written by readers."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.kills import kill_writers
from tests.helpers.small_stores import ROW, finished, raw, records
from tests.helpers.unprivileged import unprivileged

from pointforms.bench.records import Record
from pointforms.bench.store import Store
from pointforms.bench.store_file import StoreError

OF_0_1_0 = Path(__file__).parents[1] / "data" / "store-of-0.1.0.db"


def content(folder):
    """Every file of a folder, with a digest of what is in it."""
    files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


@pytest.fixture(scope="module")
def killed_store(tmp_path_factory):
    """What a run that was killed leaves: three fits in the file, and one more only in its log."""
    folder = tmp_path_factory.mktemp("killed")
    child = os.fork()
    if child == 0:
        store = Store(folder / "results.db")
        run = store.begin("", "local", 1)
        store.finish(run, records())
        store.beat(run)
        store.finish(run, records(4))
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    return folder


@pytest.fixture
def killed(killed_store, tmp_path):
    folder = tmp_path / "killed"
    shutil.copytree(killed_store, folder)
    return folder / "results.db"


# --- one file --------------------------------------------------------------------------------


def test_a_store_in_use_has_a_log_and_is_sound(path):
    with Store(path) as store:
        store.finish(None, records())
        assert raw(path, "PRAGMA journal_mode") == [("wal",)]
        assert raw(path, "PRAGMA integrity_check") == [("ok",)]
        assert raw(path, "PRAGMA user_version") == [(1,)]


def test_a_closed_store_is_one_file_without_a_log(path):
    with Store(path) as store:
        store.finish(None, records())
    assert raw(path, "PRAGMA journal_mode") == [("delete",)]
    with Store(path) as store:  # and again
        assert len(store.keys()) == 3
    assert os.listdir(path.parent) == [path.name]


def test_the_last_to_close_a_shared_store_tidies_up(path):
    one, two = Store(path), Store(path)
    one.finish(None, records(2))
    one.close()
    assert shutil.copy(path, path.with_name("copy.db"))
    two.finish(None, records(3))
    two.close()
    assert sorted(os.listdir(path.parent)) == ["copy.db", "results.db"]
    with Store(path.with_name("copy.db"), read_only=True) as copy:
        assert len(copy.keys()) == 2


def test_the_end_of_a_run_leaves_nothing_only_in_the_log(path):
    """As before a kill: the store is not closed when its file is copied."""
    with Store(path) as store:
        shutil.copy(path, path.with_name("new.db"))
        run = store.begin("", "local", 1)
        store.finish(run, records())
        store.end(run)
        shutil.copy(path, path.with_name("ended.db"))
    for name, fits in (("new.db", 0), ("ended.db", 3)):
        with Store(path.with_name(name), read_only=True) as copy:
            assert len(copy.records()) == fits


def test_the_file_of_a_killed_run_is_a_store_without_its_log(killed):
    with Store(killed, read_only=True) as store:
        assert len(store.keys()) == 4
    for ending in ("-wal", "-shm"):
        os.remove(f"{killed}{ending}")
    with Store(killed, read_only=True) as store:
        assert len(store.records()) == 3


def test_writers_that_are_killed_leave_whole_units(path):
    kill_writers(path, kills=10)


# --- copies ----------------------------------------------------------------------------------


def test_a_copy_has_everything_and_no_claims(killed, tmp_path):
    copy = tmp_path / "copy.db"
    raw(killed, "INSERT INTO claims VALUES ('a', 0, 0, 1)")
    with Store(killed, read_only=True) as store:
        store.copy(copy)
        expected = store.records()
    assert sorted(os.listdir(tmp_path)) == ["copy.db", "killed"]
    assert raw(copy, "PRAGMA journal_mode") == [("delete",)]
    assert raw(copy, "SELECT * FROM claims") == []
    with Store(copy, read_only=True) as store:
        assert [run.id for run in store.runs()] == [1]
        for ours, theirs in zip(store.records(), expected, strict=True):
            assert (ours.row, ours.fold, ours.seed) == (theirs.row, theirs.fold, theirs.seed)
            np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)


def test_copies_made_while_a_run_writes_have_whole_units(path, tmp_path):
    with Store(path) as store:
        stop = threading.Event()

        def write():
            for first in range(0, 3000, 3):
                seeds = range(first, first + 3)
                store.finish(None, [Record(ROW, 0, seed, auroc=0.5) for seed in seeds])
                if stop.is_set():
                    break

        writer = threading.Thread(target=write)
        writer.start()
        with Store(path, read_only=True) as reader:
            for i in range(5):
                reader.copy(tmp_path / f"{i}.db")
        stop.set()
        writer.join()
    counts = []
    for i in range(5):
        assert raw(tmp_path / f"{i}.db", "PRAGMA integrity_check") == [("ok",)]
        counts.append(raw(tmp_path / f"{i}.db", "SELECT count(*) FROM fits")[0][0])
    assert all(count % 3 == 0 for count in counts)
    assert counts == sorted(counts)


@pytest.mark.parametrize("name", ["results.db", "copy.db", "copy.db-wal", "copy.db-journal"])
def test_a_copy_replaces_nothing(path, name):
    """A log that is left of another store would be played into the new one."""
    with Store(path) as store:
        there = path.with_name(name)
        if not there.exists():
            there.write_text("mine")
        before = content(path.parent)
        with pytest.raises(FileExistsError, match=name):
            store.copy(path if name == "results.db" else path.with_name("copy.db"))
        assert content(path.parent) == before


# --- reading ---------------------------------------------------------------------------------


def _of_0_1_0(path):
    """A finished store of that version: it expects a log, which is not there."""
    shutil.copy(OF_0_1_0, path)
    raw(path, "PRAGMA journal_mode = WAL")
    assert os.listdir(path.parent) == [path.name]


def test_a_store_that_is_only_read_stays_as_it_was(path):
    finished(path)
    before = content(path.parent), path.stat().st_mtime_ns
    with Store(path) as store:
        assert len(store.records()) == 3
    assert (content(path.parent), path.stat().st_mtime_ns) == before


@pytest.mark.parametrize("make", [finished, _of_0_1_0])
def test_a_reader_writes_nothing_in_the_file_or_beside_it(path, make):
    make(path)
    before = content(path.parent), path.stat().st_mtime_ns
    with Store(path, read_only=True) as store:
        assert len(store.records()) in (3, 6)
        assert len(store.runs()) in (0, 1)
        assert store.claimed() == 0
        assert os.listdir(path.parent) == [path.name]
    assert (content(path.parent), path.stat().st_mtime_ns) == before


def test_a_reader_of_a_killed_store_writes_nothing(killed):
    before = content(killed.parent)
    with Store(killed, read_only=True) as store:
        assert len(store.records()) == 4
    after = content(killed.parent)
    del before["results.db-shm"], after["results.db-shm"]  # memory that processes share
    assert after == before


def test_a_reader_cannot_write(path):
    finished(path)
    with Store(path, read_only=True) as store, pytest.raises(StoreError, match="cannot be written"):
        store.begin("", "local", 1)


@pytest.mark.parametrize("make", [finished, _of_0_1_0])
def test_a_reader_sees_what_a_run_writes_that_starts_later(path, make):
    """A file at rest is read without locks, until it changes."""
    make(path)
    with Store(path, read_only=True) as reader:
        before = len(reader.keys())
        with Store(path) as writer:
            assert writer.finish(None, records(7)) > 0
            assert len(reader.records()) > before
            reader.copy(path.with_name("copy.db"))
            assert raw(path.with_name("copy.db"), "SELECT count(*) FROM fits") != [(before,)]
        assert reader.keys() == {(r.row.key, r.fold, r.seed) for r in reader.records()}


def test_what_is_read_while_the_file_changes_is_read_again(path, monkeypatch):
    _of_0_1_0(path)
    states = iter([(1,), (2,), (3,), (3,)])  # when it is opened, after it is checked, ...
    monkeypatch.setattr(Store, "_state", lambda self: next(states, (3,)))
    with Store(path, read_only=True) as store:
        assert len(store.keys()) == 6
    assert list(states) == []


def test_a_reader_leaves_the_locks_of_its_process_alone(path):
    """They end when any file of that name is closed, unless SQLite closes it."""
    finished(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with Store(path, read_only=True) as reader:
        assert len(reader.keys()) == 3
    other = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], timeout=0.05);"
        "db.execute('BEGIN IMMEDIATE')"
    )
    done = subprocess.run([sys.executable, "-c", other, path], capture_output=True, text=True)
    holder.close()
    assert "database is locked" in done.stderr


@pytest.fixture
def shelf():
    """A folder that everybody may read; pytest's own are only for their owner."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    for found in (folder, *folder.rglob("*")):
        found.chmod(0o755)
    shutil.rmtree(folder)


def _protect(folder):
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)


@pytest.mark.parametrize("make", [finished, _of_0_1_0])
def test_afinished_store_opens_on_read_only_media(shelf, make):
    make(shelf / "results.db")
    _protect(shelf)

    def read():
        with Store(shelf / "results.db", read_only=True) as store:
            assert len(store.records()) in (3, 6)
            assert len(store.runs()) in (0, 1)
        with pytest.raises(StoreError, match="cannot be written here: `npf export` makes a copy"):
            Store(shelf / "results.db").begin("", "local", 1)

    unprivileged(read)


def test_a_killed_store_on_read_only_media_is_read_or_explained(killed, shelf):
    for ending in ("", "-wal", "-shm"):
        shutil.copy(f"{killed}{ending}", shelf)
    _protect(shelf)

    def read():
        with Store(shelf / "results.db", read_only=True) as store:
            assert len(store.records()) == 4

    def explain():
        with pytest.raises(StoreError, match=r"last changes are in 'results\.db-wal', .* copy"):
            Store(shelf / "results.db", read_only=True)

    unprivileged(read)
    shelf.chmod(0o755)
    (shelf / "results.db-shm").unlink()
    shelf.chmod(0o555)
    unprivileged(explain)

"""Files that are no store, damaged stores, full disks and locks."""

from __future__ import annotations

import os
import sqlite3

import numpy as np
import pytest
from tests.helpers.small_stores import ROW, finished, raw, records

from pointforms.bench import store_file
from pointforms.bench.records import Unit
from pointforms.bench.store import Store
from pointforms.bench.store_file import StoreError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


# --- what is no store ------------------------------------------------------------------------


def _other_database(path):
    raw(path, "CREATE TABLE fits (x)")


def _other_wal_database(path):
    raw(path, "PRAGMA journal_mode = WAL")
    raw(path, "CREATE TABLE notes (x)")


def _other_version(path):
    Store(path).close()
    raw(path, "PRAGMA user_version = 99")


def _truncated(path):
    finished(path)
    os.truncate(path, path.stat().st_size // 2)


def _overwritten(path):
    finished(path)
    page = raw(path, "SELECT rootpage FROM sqlite_master WHERE name = 'fits'")[0][0]
    with open(path, "r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(np.random.default_rng(0).bytes(4096))


@pytest.mark.parametrize("how", [{}, {"create": False}, {"read_only": True}])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("xy"), "not a database"),
        (lambda path: path.write_text("task,model\n" * 200), "not a database"),
        (lambda path: path.write_bytes(bytes(range(256)) * 40), "not a database"),
        (lambda path: path.mkdir(), "is a folder"),
        (_other_database, "not a store of this version"),
        (_other_wal_database, "not a store of this version"),
        (_other_version, "schema is 99, expected 1"),
        (_truncated, "it is damaged: restore a copy"),
        (_overwritten, "it is damaged: restore a copy"),
    ],
)
def test_what_is_no_store_is_refused_and_left_alone(path, make, message, how):
    make(path)
    before = None if path.is_dir() else path.read_bytes()
    with pytest.raises(StoreError, match=message) as error:
        Store(path, **how).records()  # readers of a damaged file open it first
    assert repr(str(path)) in str(error.value)
    assert "\n" not in str(error.value)
    assert list(path.parent.iterdir()) == [path]
    assert path.is_dir() or path.read_bytes() == before


def test_readers_look_at_no_more_of_a_file_than_they_need(path):
    with Store(path) as store:
        store.finish(None, records(2, size=2000))
    with open(path, "r+b") as file:
        file.seek(-4096, os.SEEK_END)  # a page of predictions
        file.write(b"\xff" * 4096)
    with Store(path, read_only=True) as store:
        assert len(store.keys()) == 2
        with pytest.raises(StoreError, match="it is damaged: restore a copy"):
            store.copy(path.with_name("copy.db"))
    with pytest.raises(StoreError, match="it is damaged: restore a copy"):
        Store(path)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("how", [{"create": False}, {"read_only": True}])
def test_an_absent_store_is_not_made_for_reading(path, how):
    with pytest.raises(FileNotFoundError, match="no store"):
        Store(path, **how)
    with pytest.raises(FileNotFoundError, match="no store"):
        Store(path / "absent" / "a.db", **how)
    assert list(path.parent.iterdir()) == []
    path.touch()
    with pytest.raises(ValueError, match="it is empty"):
        Store(path, **how)
    assert path.read_bytes() == b""
    Store(path).close()  # a run that was killed at its start leaves such a file


@pytest.mark.parametrize(
    "damage",
    ["row = '{'", "row = x'ff00'", "clouds = x'00'", "probabilities = x'00'", "fold = 'a'"],
)
def test_a_record_that_makes_no_sense_is_reported_as_damage(path, damage):
    finished(path)
    raw(path, f"UPDATE fits SET {damage} WHERE seed = 0")
    message = r"results\.db.* is damaged"
    with Store(path, read_only=True) as store, pytest.raises(StoreError, match=message):
        store.records()


# --- full disks and locks --------------------------------------------------------------------


def test_a_full_disk_is_an_error_that_keeps_what_is_there(path):
    with Store(path) as store:
        run = store.begin("", "local", 1)
        store.finish(run, records(3))
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match=r"results\.db.* the disk is full: make room"):
            store.finish(run, records(100))
        assert len(store.records()) == 3
        store.end(run)
    with Store(path) as store:
        assert store.finish(None, records(100)) == 97


def test_a_copy_onto_a_full_disk_names_the_copy_and_leaves_nothing(path, monkeypatch):
    real = sqlite3.connect

    def connect(*args, **options):
        db = real(*args, **options)
        db.execute("PRAGMA max_page_count = 2")
        return db

    with Store(path) as store:
        store.finish(None, records(100))
        monkeypatch.setattr(store_file.sqlite3, "connect", connect)
        with pytest.raises(StoreError, match=r"copy\.db': the disk is full"):
            store.copy(path.with_name("copy.db"))
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_locked_store_is_waited_for_and_then_explained(path, read_only, monkeypatch):
    monkeypatch.setattr(store_file, "_PATIENCE", 0.1)
    finished(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    other.execute("CREATE TABLE notes (x)")
    with pytest.raises(StoreError, match=r"results\.db.* another process has locked it: wait"):
        Store(path, read_only=read_only)
    other.close()
    Store(path, read_only=read_only).close()


def test_a_store_locked_while_in_use_is_explained(path, monkeypatch):
    monkeypatch.setattr(store_file, "_PATIENCE", 0.1)
    with Store(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process has locked it"):
            store.claim(store.begin("", "local", 1), Unit(ROW, ((0, 0),)))
        other.close()
        assert isinstance(store.claim(store.begin("", "local", 1), Unit(ROW, ((0, 0),))), Unit)

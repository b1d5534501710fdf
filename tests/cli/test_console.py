"""Stores that cannot be used: every command says so in one line, and readers write nothing."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import sqlite3
import tempfile
import warnings
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import typer
from tests.helpers.commands import MANIFEST, npf, ok, refused
from tests.helpers.unprivileged import unprivileged
from typer.testing import CliRunner

from pointforms.bench import run_history, store_file
from pointforms.bench.records import Record, Row, Unit
from pointforms.bench.store import Store
from pointforms.cli.console import Commands

_PAGE = ("--no-explain", "--no-theory", "--out", "page.html")
READERS = {
    "status": ("status", "results.db"),
    "table": ("table", "results.db"),
    "table to a file": ("table", "results.db", "--out", "table.md"),
    "report": ("report", "results.db", *_PAGE),
    "export": ("export", "results.db", "fits.csv"),
    "copy": ("export", "results.db", "copy.db"),
    "plan": ("plan", "small.toml", "--store", "results.db"),
}
WRITERS = {
    "sweep": ("sweep", "small.toml", "--store", "results.db"),
    "run": ("run", "circles-vs-lines", "mlp", "--clouds", "40", "--points", "24", "--folds", "1"),
    "import": ("import", "given.csv", "--store", "results.db"),
}
COMMANDS = READERS | WRITERS


@pytest.fixture
def given(folder):
    """A folder with a manifest and a CSV of fits."""
    (folder / "small.toml").write_text(MANIFEST)
    rows = "".join(f"a,mlp,{fold},{seed},0.5\n" for fold in range(5) for seed in range(400))
    (folder / "given.csv").write_text("task,model,fold,seed,auroc\n" + rows)
    return folder


def _text(path, filled):
    path.write_text("task,model\n")


def _empty(path, filled):
    path.touch()


def _foreign(path, filled):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE notes (x)")
    db.close()


def _truncated(path, filled):
    path.write_bytes(filled.read_bytes()[:10_000])


def _scrambled(path, filled):
    content = bytearray(filled.read_bytes())
    content[4096 : 3 * 4096] = np.random.default_rng(0).bytes(2 * 4096)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *product([_text, _foreign, _truncated, _scrambled], COMMANDS),
        *product([_empty], READERS),  # writers make a store of an empty file
    ],
)
def test_what_is_no_store_or_damaged_is_one_line(given, filled, make, name):
    command = COMMANDS[name]
    make(given / "results.db", filled)
    before = _content(given)
    message = refused(*command)
    assert message.startswith(f"npf {command[0]}: 'results.db'")
    assert message.count("\n") == 1
    assert _content(given) == before


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_locked_store_is_one_line(given, filled, command, monkeypatch):
    monkeypatch.setattr(store_file, "_PATIENCE", 0.05)
    shutil.copy(filled, "results.db")
    other = sqlite3.connect("results.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    other.execute("CREATE TABLE notes (x)")
    message = refused(*command)
    other.close()
    assert message.startswith(f"npf {command[0]}: 'results.db': another process has locked it")
    assert message.count("\n") == 1


@contextmanager
def full_disk(room):
    """Let no file grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("name", "room"),
    [*product(WRITERS, (0, 3 << 10)), ("sweep", 70 << 10)],  # the last while it trains
)
def test_a_full_disk_is_one_line(given, name, room, monkeypatch):
    command = WRITERS[name]
    with full_disk(room):
        result = npf(*command)
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if line.startswith("npf ")]
    assert "Traceback" not in result.output
    assert len(lines) == 1
    assert "results.db" in lines[0]
    # a process would have ended by now, and its claims with it
    monkeypatch.setattr(run_history, "_SILENCE", 0.0)
    assert ok(*command)  # with room again it goes on
    assert ok("status", "results.db")


def test_a_copy_onto_a_full_disk_leaves_nothing(given, filled):
    with full_disk(16 << 10):
        message = refused("export", filled, "copy.db")
    assert message.startswith("npf export: 'copy.db': the disk")
    assert sorted(os.listdir()) == ["given.csv", "small.toml"]


# --- readers ---------------------------------------------------------------------------------


def _content(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


def _killed(path, filled):
    """What a run that was killed leaves: a claim, and a log."""
    with Store(path.with_name("other.db")) as store:
        run = store.begin("", "local", 1)
        store.finish(run, [Record(Row("a", "mlp"), 0, 0, auroc=0.5)])
        store.claim(run, Unit(Row("a", "mlp"), ((1, 0),)))
        store._db.execute("UPDATE runs SET pid = 2147483647")
        for ending in ("", "-wal", "-shm"):
            shutil.copy(f"{store.path}{ending}", f"{path}{ending}")
    store.path.unlink()


def _finished(path, filled):
    shutil.copy(filled, path)


def _of_0_1_0(path, filled):
    """That version left stores that expect a log."""
    shutil.copy(filled, path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = WAL")
    db.close()


@pytest.mark.parametrize("command", READERS.values(), ids=READERS)
@pytest.mark.parametrize("make", [_finished, _of_0_1_0, _killed])
def test_readers_write_nothing_to_the_store_or_beside_it(filled, folder, command, make):
    home, out = folder / "home", folder / "out"
    home.mkdir()
    out.mkdir()
    os.chdir(out)
    (out / "small.toml").write_text(MANIFEST)
    make(home / "results.db", filled)
    before = _content(home)
    ok(*(home / "results.db" if word == "results.db" else word for word in command))
    after = _content(home)
    before.pop("results.db-shm", None)  # memory that processes share
    after.pop("results.db-shm", None)
    assert after == before


def test_every_reader_works_on_read_only_media(filled, folder):
    shelf = Path(tempfile.mkdtemp())
    out = Path(tempfile.mkdtemp())
    try:
        _of_0_1_0(shelf / "results.db", filled)

        def read_all():
            os.chdir(out)
            Path("small.toml").write_text(MANIFEST)
            for command in READERS.values():
                ok(*(shelf / "results.db" if word == "results.db" else word for word in command))

        read_all()  # imports what the child needs
        for file in out.iterdir():
            file.unlink()
        (shelf / "results.db").chmod(0o444)
        shelf.chmod(0o555)
        out.chmod(0o777)
        unprivileged(read_all)
        assert len(list(out.iterdir())) == 5
    finally:
        shelf.chmod(0o755)
        os.chdir(folder)
        shutil.rmtree(shelf)
        shutil.rmtree(out)


def test_a_page_that_cannot_be_written_is_refused_before_any_work(given, filled, monkeypatch):
    shutil.copy(filled, "results.db")
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and real(path, mode))
    message = refused("report", "results.db", "--no-explain", "--out", "page.html")
    assert message == "npf report: the folder '.' cannot be written\n"


def test_warnings_are_one_line_without_control_characters():
    app, before = typer.Typer(cls=Commands), warnings.formatwarning

    @app.callback()
    def group() -> None:
        """Several commands."""

    @app.command()
    def warn() -> None:
        print(warnings.formatwarning("few clouds in \x1b.csv", UserWarning, __file__, 1), end="")

    result = CliRunner().invoke(app, ["warn"])
    assert result.stdout == "warning: few clouds in \\x1b.csv\n"
    assert warnings.formatwarning is before

"""Ctrl-C and SIGTERM: one line, the status of the signal, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.helpers.commands import MANIFEST, EngineInProcess, npf, ok
from tests.helpers.samples import comparison

from pointforms.bench.page.serving import PageServer
from pointforms.bench.store import Store
from pointforms.cli import interrupts
from pointforms.cli.interrupts import Terminated, sigterm_interrupts

SIGNALS = pytest.mark.parametrize(
    ("number", "status", "reason"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by SIGTERM")],
)


def interrupting(number):
    """A function that sends this process a signal instead of working."""

    def work(*_args, **_options):
        os.kill(os.getpid(), number)
        time.sleep(60)

    return work


class InterruptedEngine(EngineInProcess):
    """Trains a unit, then is interrupted."""

    number: int
    ended = False

    def run(self, take):
        trained = super().run(take)
        try:
            yield next(trained)
            take()
            interrupting(self.number)()
        finally:
            type(self).ended = True


@pytest.fixture(autouse=True)
def handler():
    """Commands leave handlers as they were; Ctrl-C works also for tests in the background."""
    before = signal.getsignal(signal.SIGTERM)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, interrupt)
    assert signal.getsignal(signal.SIGTERM) is before


@SIGNALS
def test_a_sweep_ends_in_order_and_goes_on(folder, monkeypatch, number, status, reason):
    (folder / "small.toml").write_text(MANIFEST)
    with monkeypatch.context() as patch:
        patch.setattr("pointforms.bench.LocalEngine", InterruptedEngine)
        patch.setattr(InterruptedEngine, "number", number, raising=False)
        patch.setattr(InterruptedEngine, "ended", False)
        result = npf("sweep", "small.toml")
        assert InterruptedEngine.ended
    assert result.exit_code == status
    assert result.stderr.splitlines()[-1] == (
        f"npf sweep: {reason}; finished fits are in results.db, and the same command trains the "
        "rest"
    )
    assert "Traceback" not in result.output
    with Store("results.db") as store:
        assert [run.state for run in store.runs()] == ["stopped"]
        assert (len(store.keys()), store.claimed()) == (1, 0)
    assert "3 fits trained" in ok("sweep", "small.toml")


@SIGNALS
@pytest.mark.parametrize(
    ("patched", "command"),
    [
        ("pointforms.paper.theory.run_checks", "theory"),
        ("pointforms.tasks.find", "explain model data.npz"),
        ("pointforms.tasks.find", "tasks show colocated"),
        ("pointforms.paper.organoids.table.CellTable.__init__", "pdo prepare cells.csv"),
        ("pointforms.paper.organoids.table.CellTable.__init__", "reproduce pdo --table cells.csv"),
    ],
)
def test_long_commands_say_it_in_one_line(
    folder, monkeypatch, number, status, reason, patched, command
):
    monkeypatch.setattr(patched, interrupting(number))
    monkeypatch.setattr("pointforms.cli.explain._load_model", lambda *_: None)
    monkeypatch.setattr("pointforms.cli.saved_models.provenance_of", lambda *_: None)
    (folder / "cells.csv").write_text("")
    result = npf(*command.split())
    names = command.split()[: 2 if command.startswith(("tasks", "pdo")) else 1]
    assert (result.exit_code, result.stderr) == (status, f"npf {' '.join(names)}: {reason}\n")
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["cells.csv"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_served_page_goes_with_its_server(folder, monkeypatch, number):
    (folder / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "temporary"))
    monkeypatch.setattr(PageServer, "serve_forever", interrupting(number))
    with Store("results.db") as store:
        store.finish(None, comparison())
    result = npf("report", "results.db", "--no-explain", "--no-theory", "--serve", "--no-open")
    assert result.exit_code == 0  # serving has no other end
    assert os.listdir(folder / "temporary") == []


def test_a_repeated_sigterm_does_not_disturb_the_tidying_up(monkeypatch):
    tidied = False
    with sigterm_interrupts():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except Terminated:
            os.kill(os.getpid(), signal.SIGTERM)
            tidied = True
        assert tidied
        monkeypatch.setattr(interrupts, "_REPEATED", 0.0)  # as if time had passed
        with pytest.raises(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)


def test_who_is_started_to_ignore_sigterm_goes_on(monkeypatch):
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with sigterm_interrupts():
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_commands_run_in_other_threads_too():
    results = []
    thread = threading.Thread(target=lambda: results.append(npf("--version")))
    thread.start()
    thread.join()
    assert results[0].exit_code == 0


# --- real ones ------------------------------------------------------------------------------


def living(mark):
    """Command lines of the processes that have a variable in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" "))
        except OSError:  # it has ended
            continue
    return found


@contextmanager
def endless_run(folder, *options):
    """`npf run` on fits that do not end, in a session of its own."""
    (folder / "temporary").mkdir()
    command = [sys.executable, "-m", "pointforms", "run", "circles-vs-lines", "npf-tri-1"]
    command += ["--clouds", "40", "--points", "24", "--set", "epochs=1000000000", *options]
    command += ["--set", "patience=1000000000", "--store", str(folder / "results.db")]
    environment = os.environ | {"TMPDIR": str(folder / "temporary"), "NPF_TEST": str(folder)}
    process = subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def claimed(path):
    if not path.exists():
        return 0
    try:
        with Store(path, create=False) as store:
            return store.claimed()
    except ValueError:  # it is being made
        return 0


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at /proc")
@pytest.mark.parametrize("engine", ["local", "ray"])
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["process", "group"])
@SIGNALS
def test_a_run_ends_quietly_and_leaves_nothing(tmp_path, number, status, reason, send, engine):
    if engine == "ray":
        pytest.importorskip("ray")
    rays = set(Path("/tmp").glob("npf-*"))
    with endless_run(tmp_path, "--engine", engine, "--workers", "2") as process:
        end = time.monotonic() + 120
        while not claimed(tmp_path / "results.db"):
            assert time.monotonic() < end
            time.sleep(0.1)
        time.sleep(15 if engine == "ray" else 5)  # a Ray is there, and training goes on
        send(process.pid, number)
        _, stderr = process.communicate(timeout=120)
    # where a task ends as Ray does, Ray's core may log that, whatever level it is asked for
    own = [line for line in stderr.splitlines() if not re.match(r"\[[-\d]+ [:,\d]+ E ", line)]
    assert (process.returncode, len(own)) == (status, 1), stderr
    assert own[0].startswith(f"npf run: {reason}")
    assert os.listdir(tmp_path / "temporary") == []
    assert set(Path("/tmp").glob("npf-*")) <= rays
    end = time.monotonic() + 30
    while living(f"NPF_TEST={tmp_path}"):
        assert time.monotonic() < end, living(f"NPF_TEST={tmp_path}")
        time.sleep(0.1)
    with Store(tmp_path / "results.db") as store:
        assert store.records() == []
        assert [run.state for run in store.runs()] == ["stopped"]
        assert store.claimed() == 0

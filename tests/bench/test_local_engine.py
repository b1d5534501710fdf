"""The local engine: what is prepared once, who dies with whom, and what is left behind."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pointforms.bench import local_engine
from pointforms.bench.fitting import preparation
from pointforms.bench.local_engine import LocalEngine
from pointforms.bench.records import Row, Unit
from pointforms.bench.store import Store
from pointforms.support.scratch import scratch_folder

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at /proc")


def row(model="npf-tri-1", **options):
    return Row("circles-vs-lines", model, options, clouds=40, points=24)


QUICK = {"epochs": 1, "hidden": [8], "forms": 3}
ENDLESS = Unit(row(epochs=10**9, patience=10**9), ((0, 0),))
UNKNOWN = Unit(Row("no-task.csv", "mlp"), ((0, 0),))  # cannot be prepared
UNITS = [
    Unit(row(**QUICK), ((0, 0), (0, 1))),
    Unit(row(**QUICK), ((1, 0), (1, 1))),
    Unit(row("npf-flat-1", **QUICK), ((0, 0), (0, 1))),
    Unit(row("logistic-regression"), ((0, 0),)),
    Unit(row("gcn", epochs=1), ((0, 0),)),
    Unit(row("gin", epochs=1), ((0, 0),)),
    Unit(row("npf-flat-1", bandwidth_policy="fixed", **QUICK), ((2, 3),)),
]


def taking(units):
    queue = deque(units)
    return lambda: queue.popleft() if queue else None


def wait_until(true, seconds=60.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def alive(pid):
    """Whether a process runs; one that nobody has buried yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Where engines and their workers put temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def prepared(folder):
    """Files of preparations, and which they are: a file made twice would be another."""
    return {file.name: file.stat().st_ino for file in folder.glob("pointforms-*/[!.]*.pt")}


def nothing_left(folder):
    return not mp.active_children() and not os.listdir(folder)


def run(engine, units, folder):
    """Records of every unit; checks that nothing was prepared twice, and nothing is left."""
    found, files = {}, {}
    for unit, records in engine.run(taking(units)):
        assert unit not in found
        assert tuple((record.fold, record.seed) for record in records) == unit.fits
        found[unit] = records
        now = prepared(folder)
        assert files.items() <= now.items()
        files = now
    assert len(files) == len({preparation(unit) for unit in units if unit is not UNKNOWN})
    assert len(found) == len(units)
    assert nothing_left(folder)
    return found


@pytest.mark.slow
def test_neither_workers_nor_a_death_among_them_change_a_bit(scratch):
    def kill():
        wait_until(lambda: prepared(scratch))
        time.sleep(0.2)  # it trains
        (worker,) = mp.active_children()
        os.kill(worker.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    one = run(LocalEngine(1), [ENDLESS, UNKNOWN, *UNITS], scratch)
    killer.join()
    (lost,) = one[ENDLESS]
    assert "exit code -9" in lost.error
    assert np.isnan(lost.auroc)
    (unknown,) = one[UNKNOWN]
    assert unknown.error.startswith("Traceback")
    assert "no-task.csv" in unknown.error

    two = run(LocalEngine(7, ("cpu", "cpu")), UNITS, scratch)
    for unit in UNITS:
        for ours, theirs in zip(one[unit], two[unit], strict=True):
            assert (ours.error, theirs.error) == (None, None)
            np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)


def test_devices_say_how_many_workers_there_are():
    assert LocalEngine(7).workers == 7
    assert LocalEngine(7, ("cpu", "cpu")).workers == 2


def test_nothing_to_do_starts_nothing(scratch, monkeypatch):
    monkeypatch.setattr(mp, "get_context", None)
    assert list(LocalEngine(2).run(lambda: None)) == []
    assert nothing_left(scratch)


def test_what_a_killed_run_left_is_removed_by_the_next(scratch):
    with subprocess.Popen(["sleep", "0"]) as process:
        pass
    with scratch_folder() as ours:
        _, place, _, start, _ = ours.name.split("-")
    left = scratch / f"pointforms-{place}-{process.pid:x}-{start}-0" / "fields"
    left.mkdir(parents=True)
    list(LocalEngine(2).run(lambda: None))
    assert nothing_left(scratch)


def test_a_run_that_is_ended_after_its_worker_has_not_failed(scratch, monkeypatch):
    """A supervisor sends SIGTERM to one process after the other."""
    worker = local_engine._Worker(scratch, "cpu")
    worker.channel, theirs = mp.Pipe()
    theirs.close()
    end = {"pid": 1, "join": lambda: None, "terminate": lambda: None, "exitcode": -signal.SIGTERM}

    def begin():
        worker.process, worker.job = SimpleNamespace(**end), local_engine._Job(ENDLESS, scratch)

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        begin()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            worker.receive([worker])
    finally:
        signal.signal(signal.SIGALRM, before)
    monkeypatch.setattr(local_engine, "_GRACE", 0.0)
    begin()
    _, (record,) = worker.receive([worker])
    assert "exit code -15" in record.error


def test_a_process_that_cannot_start_ends_the_run_only_if_none_ever_did(
    scratch, tmp_path_factory, monkeypatch
):
    """Here the import of torch fails, as it may when memory is short."""
    broken = tmp_path_factory.mktemp("broken")
    (broken / "torch.py").write_text("raise MemoryError")
    units = [UNITS[3], replace(UNITS[3], fits=((1, 0),)), replace(UNITS[3], fits=((2, 0),))]
    fits = LocalEngine(1).run(taking(units))
    _, (first,) = next(fits)
    (worker,) = mp.active_children()
    worker.kill()
    worker.join()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", [str(broken), *sys.path])
        unit, (lost,) = next(fits)
        with pytest.raises(ChildProcessError, match="could not start"):
            list(LocalEngine(1).run(taking(units)))
    ((_, (last,)),) = fits
    assert unit is units[1]
    assert "exit code 1" in lost.error
    assert (first.error, last.error) == (None, None)
    assert nothing_left(scratch)


def test_nothing_is_left_when_the_consumer_stops(scratch):
    def consume():
        for unit, _ in LocalEngine(2).run(taking([ENDLESS, UNITS[3]])):
            assert unit is UNITS[3]
            assert len(mp.active_children()) == 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        consume()
    assert nothing_left(scratch)


_DRIVER = """
import multiprocessing as mp, sys, tempfile, threading, time
from pointforms.bench.local_engine import LocalEngine
from pointforms.bench.records import Row, Unit

def tell():
    while not mp.active_children():
        time.sleep(0.05)
    print(*(child.pid for child in mp.active_children()), flush=True)

if __name__ == "__main__":
    tempfile.tempdir = sys.argv[1]
    row = Row("circles-vs-lines", "mlp", {"epochs": 10**9, "patience": 10**9}, 40, 24)
    units = [Unit(row, ((0, 0),))]
    threading.Thread(target=tell, daemon=True).start()
    list(LocalEngine(1).run(lambda: units.pop() if units else None))
"""


def test_a_worker_ends_and_tidies_up_when_the_driver_is_killed(tmp_path):
    (tmp_path / "driver.py").write_text(_DRIVER)
    command = [sys.executable, str(tmp_path / "driver.py"), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        try:
            worker = int(driver.stdout.readline())
            wait_until(lambda: prepared(tmp_path))  # it trains
            assert alive(worker)
        finally:
            driver.kill()
            driver.wait()
    wait_until(lambda: not alive(worker))
    assert not list(tmp_path.glob("pointforms-*"))


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_what_is_wrong(tmp_path):
    """Training processes import the script, whose store they would wait for."""
    (tmp_path / "train.py").write_text(
        "from pointforms import bench\n"
        "from pointforms.bench.records import Row, Unit\n"
        'unit = Unit(Row("colocated", "logistic-regression", clouds=20, points=16), ((0, 0),))\n'
        'with bench.Store("fits.db") as store:\n'
        "    bench.run([unit], store, bench.LocalEngine(1))\n"
    )
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "RuntimeError: `run` was called while a training process imports" in done.stderr
    assert done.stderr.splitlines()[-1].startswith(
        "ChildProcessError: a training process could not"
    )
    assert done.stderr.count("if __name__ == '__main__':") == 2
    with Store(tmp_path / "fits.db") as store:
        assert not store.keys()
        assert not store.claimed()

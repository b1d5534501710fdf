"""Runs: only what is missing, each fit once among several runs, units of the dead taken over."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.helpers.kills import Battery

from pointforms.bench import running
from pointforms.bench.fitting import failed
from pointforms.bench.local_engine import LocalEngine
from pointforms.bench.manifest import read_manifest
from pointforms.bench.records import Record, Row, Size, Unit
from pointforms.bench.run_log import log_path
from pointforms.bench.running import run
from pointforms.bench.store import Store
from pointforms.bench.store_file import StoreError
from pointforms.support.files import file_digest
from pointforms.tasks import load, write

ROW = Row("circles-vs-lines", "npf-tri-1", {"epochs": 3})
OTHER = Row("circles-vs-lines", "gcn")
UNITS = [
    *(Unit(ROW, ((fold, 0), (fold, 1))) for fold in range(3)),
    *(Unit(OTHER, ((fold, 0),)) for fold in range(3)),
]
FITS = 9


class Engine:
    """Trains in no time. Fits of the rows in `broken` fail."""

    name, workers = "here", 1

    def __init__(self, broken=(), score=0.5, seconds=0.0):
        self.broken, self.score, self.seconds = broken, score, seconds
        self.units = []

    def run(self, take):
        while (unit := take()) is not None:
            self.units.append(unit)
            time.sleep(self.seconds)
            if unit.row in self.broken:
                yield unit, failed(unit, "Traceback (most recent call last):\nOSError: broken\n")
            else:
                yield unit, [Record(unit.row, *fit, auroc=self.score) for fit in unit.fits]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.db") as made:
        yield made


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(running, "_PAUSE", 0.02)


def numbers(outcome):
    return outcome.trained, outcome.failed, outcome.already_stored


def test_a_run_trains_everything_and_a_second_one_nothing(store):
    first, second, steps = Engine(), Engine(), []
    assert numbers(run(UNITS, store, first, "Small", advance=steps.append)) == (FITS, 0, 0)
    assert first.units == UNITS
    assert sum(steps) == FITS
    assert numbers(run(UNITS, store, second, advance=steps.append)) == (0, 0, FITS)
    assert second.units == []
    assert sum(steps) == 2 * FITS
    one, two = store.runs()
    assert (one.title, one.engine, one.workers, one.pid) == ("Small", "here", 1, os.getpid())
    assert (one.state, two.state, store.claimed()) == ("ended", "ended", 0)


def test_only_what_is_missing_is_trained(store):
    run(UNITS[:2], store, Engine(score=0.1))
    engine = Engine(score=0.9)
    assert numbers(run(UNITS, store, engine)) == (5, 0, 4)
    assert engine.units == UNITS[2:]
    assert [r.auroc for r in store.records() if r.row == ROW] == [0.1] * 4 + [0.9] * 2


def test_a_unit_with_a_fit_missing_is_trained_whole(store):
    """As it would be anywhere: fits trained together are alike only in the same company."""
    run([Unit(ROW, ((0, 0),))], store, Engine(score=0.1))
    engine, steps = Engine(score=0.9), []
    assert numbers(run(UNITS[:1], store, engine, advance=steps.append)) == (1, 0, 1)
    assert engine.units == UNITS[:1]
    assert sum(steps) == 2
    assert [(r.seed, r.auroc) for r in store.records()] == [(0, 0.1), (1, 0.9)]


def test_a_fit_that_fails_is_recorded_and_the_rest_go_on(store):
    assert numbers(run(UNITS, store, Engine(broken=[ROW]))) == (FITS, 6, 0)
    errors = [r.error for r in store.records() if r.row == ROW]
    assert errors == ["Traceback (most recent call last):\nOSError: broken\n"] * 6
    assert all(r.error is None for r in store.records() if r.row == OTHER)


def test_failed_fits_are_tried_again_on_request(store):
    run(UNITS, store, Engine(broken=[ROW]))
    assert numbers(run(UNITS, store, Engine())) == (0, 0, FITS)
    assert numbers(run(UNITS, store, Engine(broken=[ROW]), retry=True)) == (6, 6, 3)
    assert numbers(run(UNITS, store, Engine(), retry=True)) == (6, 0, 3)
    assert numbers(run(UNITS, store, Engine(), retry=True)) == (0, 0, FITS)
    assert not any(r.error for r in store.records())


def test_an_exception_ends_the_run_and_keeps_what_is_there(store):
    def stop(fits):
        if len(store.keys()) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(UNITS, store, Engine(), advance=stop)
    assert (len(store.keys()), store.claimed()) == (4, 0)
    assert "stopped by KeyboardInterrupt" in log_path(store.path).read_text()
    assert numbers(run(UNITS, store, Engine())) == (FITS - 4, 0, 4)


def test_the_engine_ends_before_an_interrupted_run_does(store):
    class Ending(Engine):
        def run(self, take):
            try:
                yield from super().run(take)
            finally:
                ends.append(store.claimed())

    def stop(fits):
        if fits:
            raise KeyboardInterrupt

    ends = []
    with pytest.raises(KeyboardInterrupt) as kept:  # and with it all frames
        run(UNITS, store, Ending(), advance=stop)
    assert kept.tb is not None
    assert len(ends) == 1


def test_the_log_has_one_line_per_unit(store):
    run(UNITS, store, Engine(broken=[OTHER]), "Small")
    run(UNITS, store, Engine())
    lines = log_path(store.path).read_text("utf-8").splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", line) for line in lines)
    assert len(lines) == 1 + len(UNITS) + 1 + 2
    assert "run 1: Small, 9 fits, here engine, 1 workers" in lines[0]
    assert "npf-tri-1 {'epochs': 3} fold/seed 0/0, 0/1: AUROC 0.500, 0.500" in lines[1]
    assert "gcn {} fold/seed 0/0: FAILED: OSError: broken" in lines[4]
    assert re.search(r"run 1: 9 fits in \d+\.\d s, 3 failed, 0 already in the store", lines[7])
    assert "run 2: 0 fits" in lines[-1]


def test_tasks_are_read_before_anything_is_claimed(store, tmp_path, monkeypatch):
    def unit(file, fold=0):
        return Unit(
            Row(str(tmp_path / file), "mlp", content=file_digest(tmp_path / file)), fit(fold)
        )

    def fit(fold):
        return ((fold, 0),)

    (tmp_path / "columns.csv").write_text("a,b\n1,2\n")
    (tmp_path / "class.csv").write_text("cloud,label,x\n1,a,2\n1,a,0\n2,a,3\n2,a,1\n")
    write(load("colocated", clouds=20, points=4), tmp_path / "right.npz")
    engine = Engine()
    for wrong, error, message in (
        (unit("columns.csv"), ValueError, "columns.csv: no column 'cloud'"),
        (unit("class.csv"), ValueError, "class.csv: column 'label' has only the value 'a'"),
        (unit("right.npz", 7), ValueError, "right.npz has 5 folds, and no fold 7: `--folds 5`"),
        (Unit(Row("absent.csv", "mlp"), fit(0)), FileNotFoundError, "no file 'absent.csv'"),
        (Unit(Row("absent", "mlp"), fit(0)), ValueError, "no task 'absent'"),
        (Unit(Row("pdo-efp", "mlp"), fit(0)), FileNotFoundError, "no prepared task 'pdo-efp'"),
    ):
        with pytest.raises(error, match=re.escape(message)):
            run([*UNITS, wrong], store, engine)
    assert (engine.units, store.runs(), store.keys()) == ([], [], frozenset())
    assert numbers(run([unit("right.npz")], store, engine)) == (1, 0, 0)

    monkeypatch.setattr(Size, "load", None)  # what is in the store is not read again
    assert numbers(run([unit("right.npz")], store, engine)) == (0, 0, 1)
    assert numbers(run([unit("right.npz", 1)], store, engine)) == (1, 0, 0)  # nor what was checked


def test_signs_of_life_go_on_through_a_locked_database(store, monkeypatch):
    monkeypatch.setattr(running, "_BEAT", 0.01)
    beats = []

    def beat(*told):
        beats.append(told)
        raise StoreError("another process has locked it")

    monkeypatch.setattr(store, "beat", beat)
    run(UNITS, store, Engine(seconds=0.02))
    assert len(beats) > 1


@pytest.fixture
def somebody():
    """A process that may die."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def held(store, somebody, units):
    """Units claimed by a run of another process."""
    number = store.begin("", "local", 1)
    for unit in units:
        assert isinstance(store.claim(number, unit), Unit)
    store._db.execute("UPDATE runs SET pid = ? WHERE id = ?", (somebody.pid, number))
    return number


def test_units_of_another_run_are_waited_for(store, somebody):
    number, engine = held(store, somebody, UNITS[:2]), Engine()

    def finish():
        for unit in UNITS[:2]:
            store.finish(number, [Record(unit.row, *fit, auroc=0.1) for fit in unit.fits])
        store.end(number)

    timer = threading.Timer(0.5, finish)
    timer.start()
    assert numbers(run(UNITS, store, engine)) == (5, 0, 4)
    timer.join()
    assert engine.units == UNITS[2:]


def test_units_of_a_run_that_dies_are_taken_over(store, somebody):
    held(store, somebody, UNITS[:2])
    engine = Engine()

    def die():
        somebody.kill()
        somebody.wait()  # a process that is not buried counts as alive

    timer = threading.Timer(0.5, die)
    timer.start()
    assert numbers(run(UNITS, store, engine)) == (FITS, 0, 0)
    timer.join()
    assert engine.units == UNITS[2:] + UNITS[:2]
    assert [one.state for one in store.runs()] == ["died", "ended"]


_RUN = """
import sys, time
sys.path[:0] = sys.argv[3:]
from test_running import Engine, many
from pointforms.bench.running import run
from pointforms.bench.store import Store
from pointforms.tasks import load, write
from pointforms.support.files import file_digest

print("ready", flush=True)
sys.stdin.readline()
with Store(sys.argv[1]) as store:
    outcome = run(many(), store, Engine(score=float(sys.argv[2]), seconds=0.05))
print(outcome.trained, outcome.already_stored)
"""


def many():
    return [Unit(ROW, ((fold, 2 * i), (fold, 2 * i + 1))) for fold in range(5) for i in range(10)]


def test_two_runs_share_the_work(tmp_path):
    path = tmp_path / "results.db"
    here = Path(__file__).parent
    command = [sys.executable, "-c", _RUN, path, "0.1", here, here.parents[1]]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as other:
        assert other.stdout.readline() == "ready\n"
        other.stdin.write("go\n")
        other.stdin.flush()
        with Store(path) as store:
            ours = run(many(), store, Engine(score=0.2, seconds=0.05))
        theirs = [int(word) for word in other.communicate(timeout=60)[0].split()]
    assert other.returncode == 0
    assert ours.trained + theirs[0] == ours.already_stored + theirs[1] == 100
    assert min(ours.trained, theirs[0]) > 0
    with Store(path, create=False) as store:
        records = store.records()
    assert len(records) == 100
    assert [sum(r.auroc == a for r in records) for a in (0.1, 0.2)] == [theirs[0], ours.trained]
    log = log_path(path).read_text("utf-8").splitlines()
    assert sum("AUROC" in line for line in log) == 50


# --- killed again and again ------------------------------------------------------------------

_MANIFEST = """
title = "Killed"
folds = 3
seeds = 2
[[sweep]]
tasks = ["circles-vs-lines"]
models = ["npf-tri-1", "npf-flat-1", "mlp"]
clouds = 40
points = 24
[sweep.options]
epochs = 40
patience = 40
[[sweep]]
tasks = ["circles-vs-lines"]
models = ["logistic-regression", "gcn"]
clouds = 40
points = 24
folds = 2
seeds = 1
"""


def _sweep(folder, name):
    """Start `npf sweep` on a store, its temporary files in the folder."""
    command = [Path(sys.executable).with_name("npf"), "sweep", folder / "killed.toml"]
    (folder / "temporary").mkdir(exist_ok=True)
    return subprocess.Popen(
        [*command, "--store", folder / name, "--workers", "2"],
        stdout=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(folder / "temporary")},
    )


@pytest.mark.slow
def test_killed_ten_times_and_resumed_it_is_as_if_undisturbed(tmp_path):
    battery = Battery(tmp_path)
    battery.run(kills=10)
    assert battery.training >= 5


@pytest.mark.slow
def test_two_sweeps_on_one_store_share_the_work(tmp_path):
    (tmp_path / "killed.toml").write_text(_MANIFEST)
    crew = [_sweep(tmp_path, "shared.db") for _ in range(2)]
    assert [process.wait() for process in crew] == [0, 0]
    with Store(tmp_path / "shared.db") as store:
        assert len(store.records()) == read_manifest(tmp_path / "killed.toml").fits
        assert not any(record.error for record in store.records())
        assert len(store.runs()) == 2
    log = log_path(tmp_path / "shared.db").read_text("utf-8")
    trained = [int(n) for n in re.findall(r"run \d: (\d+) fits in", log)]
    assert sum(trained) == read_manifest(tmp_path / "killed.toml").fits


def test_the_local_engine_fills_a_store(store):
    """From units to records on disk, and back."""
    row = Row("circles-vs-lines", "mlp", {"epochs": 1}, clouds=40, points=24)
    wrong = Row("circles-vs-lines", "mlp", {"epochs": -1}, clouds=40, points=24)
    units = [Unit(row, ((0, 0), (0, 1))), Unit(wrong, ((0, 0),))]
    assert numbers(run(units, store, LocalEngine(1))) == (3, 1, 0)
    refused, *found = sorted(store.records(), key=lambda record: record.row.options["epochs"])
    assert "epochs=-1: expected a whole number of at least 1" in refused.error
    assert all(record.probabilities.shape == (record.test_size, 2) for record in found)

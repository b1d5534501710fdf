"""The store: records come back as they were, claims exclude, and nothing is ever half there."""

from __future__ import annotations

import multiprocessing as mp
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest

from pointforms.bench import run_history
from pointforms.bench.records import Record, Row, Unit
from pointforms.bench.store import Store

ROW = Row("circles-vs-lines", "npf-tri-1", {"epochs": 3, "hidden": [8, 8]}, clouds=40)
UNIT = Unit(ROW, ((0, 0), (0, 1), (0, 2)))


def record(fold=0, seed=0, row=ROW, **values):
    return Record(row, fold, seed, **({"auroc": 0.5, "version": "1"} | values))


def records(unit=UNIT, **values):
    return [record(*fit, unit.row, **values) for fit in unit.fits]


def raw(path, statement, values=()):
    """Straight to the database, without the store."""
    db = sqlite3.connect(path)
    with db:
        found = db.execute(statement, values).fetchall()
    db.close()
    return found


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


@pytest.fixture
def store(path):
    with Store(path) as made:
        yield made


# --- records ---------------------------------------------------------------------------------


def test_records_come_back_as_they_were(store, path, rng):
    row = Row(
        "data/é [x].csv",
        "npf-flat-2",
        {"learning_rate": 1e-3, "hidden": [8], "calibrate": False, "measure": "volume"},
        points=64,
        task_seed=7,
    )
    probabilities = rng.dirichlet(np.ones(3), 4)
    full = Record(
        row, 4, 2**31 - 1, 0.1 + 0.2, 1 / 3, 1e-300, 1e300, 80, 4, 123, 4.5, 1 << 40, 6,
        clouds=np.array([1, 5, 7, 9]), probabilities=probabilities, version="1.2.3",
        brier=1 / 3,
    )  # fmt: skip
    bare = Record(row, 0, 0, error="Traceback (most recent call last):\n  naïve: 'x'\n")
    store.finish(None, [full, bare])
    store.close()
    with Store(path, create=False) as again:
        failed, found = again.records()
    assert found.row == row
    assert dict(found.row.options) == dict(row.options)
    assert found.row.title == "NPF-Flat k=2"
    for name in Record.__dataclass_fields__:
        if name not in ("row", "clouds", "probabilities"):
            assert getattr(found, name) == getattr(full, name), name
    np.testing.assert_array_equal(found.clouds, full.clouds)
    np.testing.assert_array_equal(found.probabilities, probabilities)
    assert found.probabilities.dtype == np.float64
    assert failed.error == bare.error
    assert np.isnan([failed.auroc, failed.log_loss, failed.validation_loss, failed.seconds]).all()
    assert (failed.parameters, failed.memory, failed.clouds, failed.probabilities) == (None,) * 4


def test_predictions_may_stay_on_disk(store):
    store.finish(None, [record(clouds=np.arange(2), probabilities=np.full((2, 2), 0.5))])
    assert store.records()[0].probabilities.shape == (2, 2)
    assert store.records(predictions=False)[0].probabilities is None


def test_records_go_by_row_fold_and_seed(store):
    store.finish(None, [record(1, 0), record(0, 1), record(0, 0, Row("colocated", "mlp"))])
    found = [(r.row.task, r.fold, r.seed) for r in store.records()]
    assert sorted(found) == [
        ("circles-vs-lines", 0, 1), ("circles-vs-lines", 1, 0), ("colocated", 0, 0),
    ]  # fmt: skip
    assert store.keys() == {(ROW.key, 1, 0), (ROW.key, 0, 1), (Row("colocated", "mlp").key, 0, 0)}


def test_mean_seconds_are_of_fits_that_succeeded_here(store, path):
    run, elsewhere = store.begin("", "local", 1), store.begin("", "local", 1)
    store.finish(run, [record(0, 0, seconds=1.0), record(0, 1, seconds=3.0), record(0, 2)])
    store.finish(run, [record(0, 3, error="x", seconds=100.0), record(0, 4, seconds=0.0)])
    store.finish(None, [record(1, 0, seconds=100.0)])
    store.finish(elsewhere, [record(1, 1, seconds=100.0)])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE runs SET machine = 'another' WHERE id = ?", (elsewhere,))
    assert store.seconds() == {ROW: (2, 2.0)}


def test_seconds_pass_over_rows_that_cannot_be_read(store, path):
    store.finish(store.begin("", "local", 1), [record(fold, seconds=2.0) for fold in range(3)])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE fits SET row = '{\"precision\": 16}' WHERE fold = 1")
        db.execute("UPDATE fits SET seconds = 'two' WHERE fold = 2")
    assert store.seconds() == {ROW: (1, 2.0)}


def test_a_finished_fit_stays_and_a_failed_one_is_replaced(store):
    assert store.finish(None, [record(auroc=0.7), record(1, error="broken")]) == 2
    assert store.finish(None, [record(auroc=0.9), record(1, auroc=0.8)]) == 1
    assert [(r.auroc, r.error) for r in store.records()] == [(0.7, None), (0.8, None)]
    assert store.finish(None, [record(0, error="late"), record(1, error="late")]) == 0
    assert all(r.error is None for r in store.records())


def test_finish_is_all_or_nothing(store):
    run = store.begin("", "local", 1)
    assert store.claim(run, UNIT) == UNIT
    bad = [*records()[:2], record(0, 2, version=object())]
    with pytest.raises(sqlite3.Error):
        store.finish(run, bad)
    assert store.keys() == frozenset()
    assert store.claimed() == 3
    assert store.finish(run, iter(records())) == 3  # and it goes on
    assert store.claimed() == 0


# --- claims ----------------------------------------------------------------------------------


def test_claims_exclude_each_other(store, path):
    with Store(path) as other:
        one, two = store.begin("a", "local", 1), other.begin("b", "local", 1)
        assert one != two
        assert store.claim(one, UNIT) == UNIT
        assert other.claim(two, UNIT) == "busy"
        assert other.claim(two, Unit(ROW, ((0, 2), (0, 3)))) == "busy"  # a fit in common
        assert other.claim(two, Unit(ROW, ((1, 0),))) == Unit(ROW, ((1, 0),))
        assert other.claimed() == 4
        store.finish(one, records())
        assert other.claim(two, UNIT) == "finished"
        assert other.claimed() == 1


def test_a_claim_is_of_what_is_missing(store):
    run = store.begin("", "local", 1)
    store.finish(None, [record(0, 1)])
    assert store.claim(run, UNIT) == Unit(ROW, ((0, 0), (0, 2)))


def test_the_end_of_a_run_frees_its_claims(store):
    one, two = store.begin("", "local", 1), store.begin("", "local", 1)
    store.claim(one, UNIT)
    store.end(one)
    assert store.claim(two, UNIT) == UNIT
    assert [run.state for run in store.runs()] == ["ended", "running"]


@pytest.fixture
def dead_pid():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def elsewhere(path, run, seen=None):
    """Make it a run of another machine, whose clock is its own."""
    raw(
        path, "UPDATE runs SET host = 'elsewhere', seen = ifnull(?, seen) WHERE id = ?", (seen, run)
    )


@pytest.fixture
def later(monkeypatch):
    """Let seconds go by on our own clock, which nobody can set."""
    passed = 0.0

    def wait(seconds):
        nonlocal passed
        passed += seconds

    monkeypatch.setattr(run_history.time, "monotonic", lambda real=time.monotonic: real() + passed)
    return wait


def test_claims_of_a_process_that_is_gone_are_free_at_once(store, path, dead_pid):
    one, two = store.begin("", "local", 1), store.begin("", "local", 1)
    store.claim(one, UNIT)
    raw(path, "UPDATE runs SET pid = ? WHERE id = ?", (dead_pid, one))
    assert store.runs()[0].state == "died"
    assert store.claimed() == 0
    assert store.claim(two, UNIT) == UNIT


@pytest.mark.parametrize("ahead", [-1e9, -1000.0, 0.0, 1000.0, 1e9])
def test_claims_of_a_silent_run_are_free_after_two_minutes_whatever_its_clock(
    store, path, later, ahead
):
    one, two = store.begin("", "local", 1), store.begin("", "local", 1)
    store.claim(one, UNIT)
    elsewhere(path, one, time.time() + ahead)
    assert store.claim(two, UNIT) == "busy"
    later(60)
    assert store.claim(two, UNIT) == "busy"
    later(60)
    assert store.claim(two, UNIT) == UNIT


@pytest.mark.parametrize("ahead", [-1e9, -1000.0, 0.0, 1000.0, 1e9])
def test_claims_of_a_live_run_are_kept_whatever_its_clock(store, path, later, ahead):
    one, two = store.begin("", "local", 1), store.begin("", "local", 1)
    store.claim(one, UNIT)
    for beat in range(10):  # also one that is set back again and again
        elsewhere(path, one, time.time() + ahead + (10 * beat if ahead < 1000 else -beat))
        later(100)
        assert store.claim(two, UNIT) == "busy"
    assert len(raw(path, "SELECT * FROM claims")) == 3


def test_a_clock_that_differs_shows_as_died(store, path):
    """What is printed compares clocks; who may train does not."""
    run = store.begin("", "local", 1)
    store.claim(run, UNIT)
    for ahead, state in ((0, "running"), (-1000, "died"), (1000, "died")):
        elsewhere(path, run, time.time() + ahead)
        assert store.runs()[0].state == state
        assert store.claimed() == (3 if state == "running" else 0)


def test_a_clock_that_was_set_back_makes_no_negative_time(store, path):
    elsewhere(path, store.begin("", "local", 1), 0.0)
    assert store.runs()[0].wall == 0


def test_a_run_that_was_only_thought_dead_overwrites_nothing(store, path, later):
    one, two = store.begin("", "local", 1), store.begin("", "local", 1)
    store.claim(one, UNIT)
    elsewhere(path, one)
    assert store.claim(two, UNIT) == "busy"
    later(120)
    assert store.claim(two, UNIT) == UNIT
    store.beat(one)
    assert store.finish(one, records()[:1]) == 1
    assert store.claimed() == 3  # of the other
    assert store.finish(two, records(auroc=0.9)) == 2
    assert [record.auroc for record in store.records()] == [0.5, 0.9, 0.9]


def test_a_beat_is_a_sign_of_life(store, path):
    run = store.begin("", "ray", 1)
    raw(path, "UPDATE runs SET host = 'elsewhere', seen = 0")
    assert store.runs()[0].state == "died"
    store.beat(run, workers=4)
    store.beat(run, workers=2)
    (found,) = store.runs()
    assert (found.state, found.workers) == ("running", 4)
    assert found.wall >= 0


def test_failed_fits_are_tried_again_only_with_retry(store):
    one, two = store.begin("", "local", 1), store.begin("", "local", 1)
    store.claim(one, UNIT)
    store.finish(one, records(error="broken"))
    assert store.claim(two, UNIT) == "finished"
    assert store.claim(one, UNIT, retry=True) == "finished"  # it has just tried
    assert store.claim(two, UNIT, retry=True) == UNIT
    store.finish(two, records())
    assert store.claim(store.begin("", "local", 1), UNIT, retry=True) == "finished"
    assert len(store.keys(failed=False)) == 3


# --- several at once -------------------------------------------------------------------------


_EVERYTHING = [Unit(ROW, tuple((fold, 3 * part + i) for i in range(3)))
               for fold in range(5) for part in range(8)]  # fmt: skip


def _write_everything(path, barrier, queue):
    """What a run does, with training that takes no time."""
    barrier.wait()
    with Store(path) as store:
        run, new = store.begin("", "local", 1), 0
        for unit in _EVERYTHING:
            found = store.claim(run, unit)
            if isinstance(found, Unit):
                new += store.finish(run, records(found, train_size=run))
        store.end(run)
    queue.put(new)


def test_processes_share_a_store_from_its_start(path):
    context = mp.get_context("spawn")
    barrier, queue = context.Barrier(2), context.Queue()
    arguments = (path, barrier, queue)
    other = context.Process(target=_write_everything, args=arguments)
    other.start()
    _write_everything(*arguments)
    new = [queue.get(timeout=60) for _ in range(2)]
    other.join()
    assert other.exitcode == 0
    assert sum(new) == 120
    with Store(path, create=False) as store:
        found = store.records()
        assert store.claimed() == 0
    assert len(found) == 120
    whose = {(r.fold, r.seed): r.train_size for r in found}
    assert all(len({whose[fit] for fit in unit.fits}) == 1 for unit in _EVERYTHING)
    assert raw(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_store_half_made_by_another_is_never_seen(tmp_path):
    """Reading its version and its tables at two moments failed once in six such openings."""
    for turn in range(40):
        together = threading.Barrier(4)

        def opened(path, together=together):
            together.wait()
            Store(path).close()
            return True

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(opened, [tmp_path / f"{turn}.db"] * 4))

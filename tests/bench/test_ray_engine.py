"""The Ray engine: what needs no cluster, then real ones on this machine, all with tokens."""

from __future__ import annotations

import multiprocessing as mp
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import resource_tracker
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pointforms.bench import ray_engine
from pointforms.bench.local_engine import LocalEngine
from pointforms.bench.manifest import read_manifest
from pointforms.bench.ray_engine import RayEngine
from pointforms.bench.records import Record, Row, Unit
from pointforms.bench.running import run
from pointforms.bench.store import Store

SIZE = {"clouds": 40, "points": 32}
MANIFEST = """
folds = 2
[[sweep]]
tasks = ["circles-vs-lines"]
models = ["logistic-regression"]
clouds = 40
points = 32
[[sweep]]
tasks = ["circles-vs-lines"]
models = ["mlp", "npf-tri-1", "gcn"]
clouds = 40
points = 32
options = { epochs = 3 }
"""


def units(*models: str, **options: Any) -> list[Unit]:
    """Two folds of every model."""
    return [
        Unit(Row("circles-vs-lines", model, options, **SIZE), ((fold, 0),))
        for model in models
        for fold in (0, 1)
    ]


def ray_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("RAY_")}


# --- without a cluster ----------------------------------------------------------------------


class GivenUp(Exception):
    pass


class FakeRay:
    """Does every task at once, and fails those of a model."""

    exceptions = SimpleNamespace(RayError=GivenUp)

    def __init__(self, cores: int, fails: str = "") -> None:
        self.cores, self.fails = cores, fails
        self.prepared: list[Row] = []

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(self.cores)}

    def remote(self, **options: Any) -> Callable[[Any], Any]:
        return lambda function: SimpleNamespace(
            remote=self.prepare if function.__name__ == "_prepare" else self.fit
        )

    def prepare(self, row: Row, cache: Path | None) -> object:
        self.prepared.append(row)
        return object()

    def fit(self, unit: Unit, prepared: object) -> Any:
        return lambda: [Record(unit.row, fold, seed, auroc=1.0) for fold, seed in unit.fits]

    def wait(self, references: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        return references[:1], references[1:]

    def get(self, reference: Any) -> Any:
        records = reference()
        if records[0].row.model == self.fails:
            raise GivenUp("its worker died again and again")
        return records


def train(
    ray: FakeRay, todo: list[Unit], limit: int | None = None
) -> list[tuple[Unit, list[Record]]]:
    """What a run on a fake Ray yields."""
    take = iter([*todo, None]).__next__
    messages = ray_engine._train(ray, take, None, limit, on_cluster=False)
    return [content for kind, content in messages if kind == "finished"]


def test_ray_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pointforms\[ray\]"):
        RayEngine()


def test_units_that_share_a_preparation_are_prepared_once():
    ray = FakeRay(cores=2)
    todo = units("npf-tri-1", "npf-flat-1", "mlp")
    done = train(ray, todo)
    assert {unit for unit, _ in done} == set(todo)
    assert len(ray.prepared) == 2  # Gram fields, and points


def test_what_ray_gives_up_has_failed_and_the_rest_goes_on():
    ray = FakeRay(cores=2, fails="mlp")
    todo = units("mlp", "npf-tri-1")
    done = dict(train(ray, todo))
    assert len(done) == 4
    for unit, (record,) in done.items():
        assert (record.error is not None) == (unit.row.model == "mlp")
    assert "its worker died again" in (done[todo[0]][0].error or "")
    assert len(ray.prepared) == 2


def test_a_unit_that_cannot_be_sent_has_failed():
    todo = units("no-such-model", "mlp")
    done = dict(train(FakeRay(cores=2), todo))
    assert [done[unit][0].error is None for unit in todo] == [False, False, True, True]


@pytest.mark.parametrize(
    ("on_cluster", "limit", "ahead", "workers"),
    [(False, 3, 6, 3), (True, None, 6, 3), (True, 2, 2, 2), (True, 8, 6, 3)],
)
def test_few_units_are_claimed_ahead(on_cluster, limit, ahead, workers):
    taken: list[Unit] = []

    def take() -> Unit:
        taken.append(Unit(Row("circles-vs-lines", "mlp", **SIZE), ((0, len(taken)),)))
        return taken[-1]

    running = ray_engine._train(FakeRay(cores=3), take, None, limit, on_cluster)
    for finished in range(10):
        assert next(running) == ("workers", workers)
        kind, _ = next(running)
        assert kind == "finished"
        assert len(taken) == finished + ahead + 1  # one is at hand


def test_workers_are_reported_on_every_look():
    """Also where nothing changes: an engine that nobody listens to any more has to notice."""
    ray = FakeRay(cores=1)
    running = ray_engine._train(ray, lambda: units("mlp")[0], None, None, on_cluster=True)
    assert next(running) == ("workers", 1)
    assert next(running)[0] == "finished"
    ray.cores = 0  # all nodes are gone, and the driver waits for others
    assert next(running) == ("workers", 1)
    assert next(running)[0] == "finished"
    ray.cores = 3
    assert next(running) == ("workers", 3)


def test_old_preparations_are_let_go():
    tasks = ray_engine._Tasks(FakeRay(2), None)
    for seed in range(100):
        tasks.start(Unit(Row("circles-vs-lines", "mlp", task_seed=seed), ((0, 0),)))
    assert len(tasks.prepared) == ray_engine._KEPT


def test_a_preparation_that_fails_fails_its_units():
    (unit,) = units("mlp")[:1]
    wrong = ray_engine._prepare(Unit(Row("no-such-task", "mlp"), ((0, 0),)), None)
    assert isinstance(wrong, str)
    (record,) = ray_engine._fit(unit, wrong)
    assert record.row == unit.row
    assert "no task 'no-such-task'" in (record.error or "")


def test_files_are_found_from_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cells.csv").touch()
    for task, found in (("cells.csv", str(tmp_path / "cells.csv")), ("singlecell", "singlecell")):
        unit = Unit(Row(task, "mlp"), ((0, 0),))
        assert ray_engine._with_absolute_path(unit).row.task == found


def test_no_unit_no_ray(monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr(mp, "get_context", lambda _: pytest.fail("nothing to start it for"))
    assert list(RayEngine(None, 2).run(lambda: None)) == []


def test_no_private_part_of_ray_is_used():
    source = Path(ray_engine.__file__).read_text()
    assert "ray._" not in source
    assert "import ray" not in source  # only the process that talks to Ray imports it


def test_an_address_where_nobody_is():
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and does not listen
        with pytest.raises(ConnectionError, match="no Ray cluster at '127"):
            RayEngine(f"127.0.0.1:{free.getsockname()[1]}")


# --- with real ones -------------------------------------------------------------------------


def wait_for(what: Callable[[], Any], seconds: float = 240.0) -> Any:
    """What it gives as soon as that is something."""
    end = time.monotonic() + seconds
    while not (found := what()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s")
        time.sleep(0.02)
    return found


def processes(of: Callable[[Any], bool]) -> list[Any]:
    """Live processes."""
    psutil = pytest.importorskip("psutil")  # comes with ray
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and of(process):
                found.append(process)
        except (psutil.Error, OSError):  # it ended meanwhile
            continue
    return found


class Cluster:
    """Nodes on this machine, each a session of processes of its own."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(32)
        self.folder = tempfile.mkdtemp(prefix="npf-test-", dir="/tmp")  # short, for sockets
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        self.nodes: list[subprocess.Popen[bytes]] = []
        # the driver's node trains nothing, so all that is trained and prepared is on the others
        self.add("--head", f"--port={port}", "--num-cpus=0", "--include-dashboard=false",
                 f"--temp-dir={self.folder}")  # fmt: skip
        wait_for(self.answers)

    def answers(self) -> bool:
        host, port = self.address.split(":")
        with socket.socket() as client:
            return client.connect_ex((host, int(port))) == 0

    def add(self, *options: str) -> subprocess.Popen[bytes]:
        """A node; one core and a member of the cluster if nothing else is asked for."""
        environment = os.environ | {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            "RAY_TMPDIR": self.folder,
            "RAY_health_check_period_ms": "1000",  # the dead are noticed sooner
        }
        node = subprocess.Popen(
            [
                Path(sys.executable).with_name("ray"), "start", "--block",
                "--disable-usage-stats", "--object-store-memory=100000000",
                *(options or (f"--address={self.address}", "--num-cpus=1")),
            ],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        self.nodes.append(node)
        return node

    def processes(self, node: subprocess.Popen[bytes]) -> list[Any]:
        return processes(lambda process: os.getsid(process.pid) == node.pid)

    def fits(self, node: subprocess.Popen[bytes]) -> bool:
        """Whether a fit is going on there."""
        return any("ray::_fit" in " ".join(p.cmdline()) for p in self.processes(node))

    def kill(self, node: subprocess.Popen[bytes]) -> None:
        while there := self.processes(node):
            for process in there:
                process.kill()
            node.poll()

    def close(self) -> None:
        for node in reversed(self.nodes):
            self.kill(node)
            node.wait()
        shutil.rmtree(self.folder)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    pytest.importorskip("ray")
    there = Cluster()
    try:
        yield there
    finally:
        there.close()
        assert not any(there.processes(node) for node in there.nodes)


@pytest.mark.slow
def test_a_cluster_wants_its_token(nodes, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))  # where Ray would look for one too
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    before = ray_environment()
    with pytest.raises(PermissionError, match="wants a token: set RAY_AUTH_TOKEN to it"):
        RayEngine(nodes.address)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "nothing"))
    with pytest.raises(PermissionError, match="wants a token"):
        RayEngine(nodes.address)
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    with pytest.raises(PermissionError, match="refused the token"):
        RayEngine(nodes.address)
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    (tmp_path / "token").write_text(nodes.token)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))
    RayEngine(nodes.address)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH")
    assert ray_environment() == before
    assert list(tmp_path.iterdir()) == [tmp_path / "token"]


@pytest.mark.slow
def test_a_node_dies_and_another_comes(nodes, monkeypatch, tmp_path):
    monkeypatch.setenv("RAY_AUTH_TOKEN", nodes.token)
    (tmp_path / "small.toml").write_text(MANIFEST)
    manifest = read_manifest(tmp_path / "small.toml")
    first, finished = nodes.add(), []

    def exchange() -> None:
        """Once only graphs are left to learn from, the node that prepared them dies."""
        wait_for(lambda: sum(finished) >= 6 and nodes.fits(first))
        nodes.kill(first)
        nodes.add()

    with ThreadPoolExecutor(1) as other, Store(tmp_path / "ray.db") as store:
        exchanged = other.submit(exchange)
        outcome = run(manifest.units(), store, RayEngine(nodes.address), advance=finished.append)
        exchanged.result()
        found = store.records()
        assert store.claimed() == 0
    with Store(tmp_path / "local.db") as store:
        run(manifest.units(), store, LocalEngine(1))
        expected = store.records()
    assert (outcome.trained, outcome.failed, outcome.already_stored) == (8, 0, 0)
    assert len(found) == len(expected) == 8
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.row, ours.fold, ours.seed) == (theirs.row, theirs.fold, theirs.seed)
        assert ours.error is None
        np.testing.assert_array_equal(ours.clouds, theirs.clouds)
        np.testing.assert_allclose(ours.probabilities, theirs.probabilities, rtol=0, atol=1e-6)
    assert nodes.answers()  # the cluster is not ours to stop


@pytest.mark.slow
def test_a_ray_of_our_own_leaves_nothing_behind(tmp_path):
    pytest.importorskip("ray")
    psutil = pytest.importorskip("psutil")
    resource_tracker.ensure_running()  # of our own process, which keeps it
    others = set(psutil.Process().children(recursive=True))
    folders = set(Path("/tmp").glob("npf-*"))
    before, tokens, children = ray_environment(), set(), set()
    good, bad = units("mlp", epochs=2), units("mlp", epochs=-1)
    with Store(tmp_path / "ray.db") as store:

        def watch(fits: int) -> None:
            if not fits:  # of a unit that is taken
                return
            assert ray_environment() == before
            children.update(set(psutil.Process().children(recursive=True)) - others)
            for child in children:
                with suppress(psutil.Error):  # it ended meanwhile
                    environment = child.environ()
                    if "RAY_AUTH_TOKEN" in environment:
                        tokens.add(environment["RAY_AUTH_TOKEN"])
                        assert environment["RAY_AUTH_MODE"] == "token"

        outcome = run([bad[0], *good], store, RayEngine(None, 1), advance=watch)
        found = {record.row: record.error for record in store.records()}
    assert (outcome.trained, outcome.failed) == (3, 1)
    assert found[good[0].row] is None
    assert "epochs=-1: expected a whole number of at least 1" in found[bad[0].row]
    (token,) = tokens
    assert len(token) == 64
    assert ray_environment() == before
    assert set(Path("/tmp").glob("npf-*")) <= folders  # others may end meanwhile
    assert len(children) >= 3  # of the cluster: control store, node, worker
    wait_for(lambda: not any(child.is_running() for child in children), 60)

"""The Ray engine on real clusters on this machine, all with tokens."""

from __future__ import annotations

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
from typing import Any

import numpy as np
import pytest
from tests.helpers.small_units import units

from pointforms.bench.local_engine import LocalEngine
from pointforms.bench.manifest import read_manifest
from pointforms.bench.ray_engine import RayEngine
from pointforms.bench.running import run
from pointforms.bench.store import Store

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


def ray_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("RAY_")}


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

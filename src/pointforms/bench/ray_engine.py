"""The Ray engine: units as tasks of a cluster, whose nodes may come and go.

What many units read (Gram fields, graphs) is one task for all of them. Its result stays in the
object store of the cluster, and is made again by Ray if the node that holds it is lost. Everything
that talks to the cluster has to show its token.
"""

from __future__ import annotations

import importlib
import logging
import os
import secrets
import shutil
import socket
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pointforms.bench.fitting import PreparedTask, failed, fit_unit, preparation, prepare
from pointforms.bench.local_engine import Finished
from pointforms.bench.records import Record, Unit
from pointforms.support.extras import need

_RETRIES = 5  # of a task whose worker or node died, and of what is lost with a node
_KEPT = 16  # preparations that wait for further units
_LOOK = 5.0  # seconds between looks at the size of the cluster
_REACH = 10.0  # seconds for a cluster to answer at all
_SETTINGS = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else Ray warns of a change to come
}


class RayEngine:
    """Trains units on a Ray cluster, one core each.

    Nodes of a cluster need this version of the package. Tasks that are files are read by the
    nodes, at the same path as here.

    Parameters
    ----------
    address : of a cluster, "host:port", which is left running; its token is taken from
        RAY_AUTH_TOKEN, or from the file RAY_AUTH_TOKEN_PATH. Without an address, a Ray of this
        machine is started for each run, with a token of its own.
    workers : cores of that Ray, or units at a time on a cluster; as many as there are by default

    Attributes
    ----------
    workers : cores in use, which change as nodes come and go
    """

    name = "ray"

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self.address, self.limit = address, workers
        self.workers = workers or os.cpu_count() or 1
        ray = need("ray", "ray")
        if address is not None:  # a wrong address or token is told now, not after the first claim
            with _cluster(ray, address):
                self._look(ray)

    def run(self, take: Callable[[], Unit | None]) -> Iterator[Finished]:
        """Train the units that `take` gives until it gives None, and yield each when finished."""
        unit = take()
        if unit is None:  # nothing to start a Ray for
            return
        ray = need("ray", "ray")
        opened = _own(ray, self.workers) if self.address is None else _cluster(ray, self.address)
        with opened as scratch:
            tasks = _Tasks(ray, scratch)
            while unit is not None or tasks.running:
                # a unit that is taken is claimed: few more than can run, the others are for all
                window = self._look(ray)
                while unit is not None and len(tasks.running) < window:
                    wrong = tasks.start(unit)
                    if wrong is not None:
                        yield unit, wrong
                    unit = take()
                yield from tasks.finished()

    def _look(self, ray: Any) -> int:
        """Note the size of the cluster, and say how many units may be in flight."""
        cores = int(ray.cluster_resources().get("CPU", 0))  # none, if its nodes are all gone
        self.workers = max(1, cores if self.limit is None else min(cores, self.limit))
        window = 2 * self.workers  # one waits for every core
        if self.address is not None and self.limit is not None:
            return min(window, self.limit)
        return window


class _Tasks:
    """Units in flight, and what they read."""

    def __init__(self, ray: Any, cache: Path | None) -> None:
        self.ray, self.cache = ray, cache
        # exceptions of ours are results; Ray tries again only what died
        remote = ray.remote(num_cpus=1, max_retries=_RETRIES)
        self.prepare, self.fit = remote(_prepare), remote(_fit)
        self.running: dict[Any, Unit] = {}
        self.prepared: dict[str, Any] = {}  # by preparation, the last used last

    def start(self, unit: Unit) -> list[Record] | None:
        """Send a unit; its records if it cannot even be sent."""
        try:
            key = preparation(unit)
        except Exception:
            return failed(unit, traceback.format_exc())
        found = self.prepared.pop(key, None)
        if found is None:
            found = self.prepare.remote(_found_anywhere(unit), self.cache)
        self.prepared[key] = found
        # units in flight hold on to what they read; the rest goes when no reference is left
        while len(self.prepared) > _KEPT:
            del self.prepared[next(iter(self.prepared))]
        self.running[self.fit.remote(unit, found)] = unit
        return None

    def finished(self) -> Iterator[Finished]:
        """Units that are ready now, or soon."""
        if not self.running:
            return
        ready, _ = self.ray.wait(list(self.running), timeout=_LOOK)
        for reference in ready:
            unit = self.running.pop(reference)
            try:
                records: list[Record] = self.ray.get(reference)
            except self.ray.exceptions.RayError as error:  # out of memory, of retries, ...
                records = failed(unit, f"Ray gave it up: {type(error).__name__}: {error}")
                # it may be what the unit reads that cannot be had: others make it again
                self.prepared.pop(preparation(unit), None)
            yield unit, records


def _prepare(unit: Unit, cache: Path | None) -> PreparedTask | str:
    """A task of Ray: what units read, or the traceback if that cannot be made."""
    _one_thread()
    try:
        return prepare(unit, None if cache is None else cache / "fields")
    except Exception:
        return traceback.format_exc()


def _fit(unit: Unit, prepared: PreparedTask | str) -> list[Record]:
    """A task of Ray: the records of a unit."""
    _one_thread()
    return failed(unit, prepared) if isinstance(prepared, str) else fit_unit(unit, prepared)


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _found_anywhere(unit: Unit) -> Unit:
    """The unit with its task, if that is a file, as an absolute path: workers start elsewhere."""
    task = unit.row.task
    if not os.path.isfile(task):
        return unit
    return replace(unit, row=replace(unit.row, task=os.path.abspath(task)))


# --- sessions -------------------------------------------------------------------------------


@contextmanager
def _own(ray: Any, cores: int) -> Iterator[Path]:
    """A Ray of this machine that ends with the block; gives a folder that does too."""
    # sockets are in it, whose paths may have 107 characters, of which Ray needs 60
    scratch = Path(tempfile.mkdtemp(prefix="npf-", dir="/tmp" if os.name == "posix" else None))
    options = {"num_cpus": cores, "include_dashboard": False, "_temp_dir": str(scratch)}
    try:
        # its ports are open to others, so it has a token, which is new and only in the
        # environment of its processes
        with _session(ray, "local", options, RAY_AUTH_TOKEN=secrets.token_hex(32)):
            yield scratch
    finally:
        _remove(scratch)


@contextmanager
def _cluster(ray: Any, address: str) -> Iterator[None]:
    """A connection to a cluster that is there before and after."""
    _reach(address)
    with _session(ray, address, {}):
        yield


@contextmanager
def _session(ray: Any, address: str, options: dict[str, Any], **settings: str) -> Iterator[None]:
    """Connected inside the block, and only there."""
    if ray.is_initialized():
        raise RuntimeError("this process is connected to a Ray already: ray.shutdown() first")
    with _environment(**settings):
        try:
            with _explained(ray, address):
                ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **options)
            yield
        finally:
            ray.shutdown()


@contextmanager
def _explained(ray: Any, address: str) -> Iterator[None]:
    """Say what to do about a token."""
    try:
        yield
    except ray.exceptions.AuthenticationError as error:
        reason = str(error).partition(". ")[0]
        raise PermissionError(
            f"the Ray cluster {address!r} wants a token: set RAY_AUTH_TOKEN to it, or "
            f"RAY_AUTH_TOKEN_PATH to a file that has it ({reason})"
        ) from None
    except ConnectionError as error:
        if "uthenticat" not in str(error.__cause__):
            raise
        raise PermissionError(
            f"the Ray cluster {address!r} refused the token: RAY_AUTH_TOKEN, or the file "
            "RAY_AUTH_TOKEN_PATH, has to be that of its nodes"
        ) from None


def _reach(address: str) -> None:
    """See that something answers: Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if "/" in address or not colon or not port.isdigit():  # "auto", or for Ray to judge
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACH).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"no Ray cluster at {address!r}: {error}") from None


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Settings of Ray, in the environment; afterwards that is as it was."""
    before = {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
    os.environ.update(_SETTINGS, **values)
    try:
        _read_again()
        yield
    finally:
        for name in [name for name in os.environ if name.startswith("RAY_")]:
            del os.environ[name]
        os.environ.update(before)
        _read_again()


def _read_again() -> None:
    """Have Ray look at the environment, of which it keeps the mode and the token of before."""
    raylet = importlib.import_module("ray._raylet")
    if not hasattr(raylet, "AuthenticationTokenLoader"):
        raise ImportError('this needs a Ray that has tokens: pip install "ray>=2.52"')
    raylet.Config.initialize("")  # the mode first: no thread may miss a token it still wants
    raylet.AuthenticationTokenLoader.instance().reset_cache()


def _remove(folder: Path) -> None:
    """Remove a folder in which processes that are ending may still write."""
    for _ in range(50):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)

"""The Ray engine: units as tasks of a cluster, whose nodes may come and go.

What many units read (Gram fields, graphs) is one task for all of them. Its result stays in the
object store of the cluster, and Ray makes it again if the node that holds it is lost.

Everything that talks to a cluster has to show its token. Ray reads the token from the environment
once per process, so each run talks to Ray from a process of its own, in whose environment it is
set before Ray is imported. The environment of the calling process is not touched.
"""

from __future__ import annotations

import logging
import multiprocessing as mp
import os
import secrets
import signal
import socket
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pointforms.bench.fitting import PreparedTask, failed, fit_unit, preparation, prepare
from pointforms.bench.local_engine import Finished, start_out_of_reach
from pointforms.bench.records import Record, Unit
from pointforms.support.extras import need
from pointforms.support.scratch import scratch_folder

_RETRIES = 5  # of a task whose worker or node died, and of what is lost with a node
_KEPT = 16  # preparations that are kept for further units
_LOOK = 5.0  # seconds between looks at the size of the cluster
_REACH = 10.0  # seconds for a cluster to answer at all
_PATIENCE = 60.0  # seconds for a local Ray to end
_SETTINGS = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # otherwise Ray warns of a change to come
}

_Session = tuple[Any, Path | None]  # Ray, and a folder that only a local Ray has


class RayEngine:
    """Train units on a Ray cluster, one core each.

    The nodes of a cluster need this version of the package. Tasks that are files are read by the
    nodes, at the same path as here.

    Parameters
    ----------
    address : str, optional
        Address of a cluster, "host:port", which is left running. Its token is taken from
        RAY_AUTH_TOKEN, or from the file RAY_AUTH_TOKEN_PATH. By default a local Ray is started
        for each run, with a token of its own.
    workers : int, optional
        Number of cores of a local Ray, or of units at a time on a cluster. By default as many as
        there are cores.

    Attributes
    ----------
    workers : int
        Number of cores in use, which changes as nodes come and go.

    Examples
    --------
    >>> RayEngine(workers=2).workers  # starts nothing yet
    2
    """

    name = "ray"

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        if find_spec("ray") is None:
            need("ray", "ray")  # raises an error that says how to install it
        self.address, self.limit = address, workers
        self.workers = workers or os.cpu_count() or 1
        if address is not None:  # report a wrong address or token now, not after the first claim
            for _ in self._drive(lambda: None):
                pass

    def run(self, take: Callable[[], Unit | None]) -> Generator[Finished, None, None]:
        """Train the units that `take` returns until it returns None; yield each when finished."""
        first = take()
        if first is None:  # nothing to start a Ray for
            return
        pending = [first]
        yield from self._drive(lambda: pending.pop() if pending else take())

    def _drive(self, take: Callable[[], Unit | None]) -> Generator[Finished, None, None]:
        """Answer the process that talks to Ray, and yield what it has trained."""
        if self.address is not None:
            _reach(self.address)
        context = mp.get_context("spawn")
        channel, theirs = context.Pipe()
        arguments = (theirs, self.address, self.limit, self.workers)
        process = context.Process(target=_talk_to_ray, args=arguments, daemon=True)
        try:
            start_out_of_reach(process)
            theirs.close()
            while True:
                try:
                    kind, content = channel.recv()
                except EOFError:
                    process.join()
                    raise RuntimeError(
                        f"the process that talks to Ray ended with exit code {process.exitcode}"
                    ) from None
                if kind == "take":
                    channel.send(take())
                elif kind == "workers":
                    self.workers = content
                elif kind == "finished":
                    yield content
                elif kind == "error":
                    raise content
                else:
                    return
        finally:
            channel.close()  # it ends when it notices
            if process.pid is not None:
                process.join(_PATIENCE)
                process.kill()
                process.join()


def _talk_to_ray(channel: Connection, address: str | None, limit: int | None, cores: int) -> None:
    """Run the process that talks to Ray: ask for units through the channel and send records."""
    # The process that started this one will end it. What a terminal or a supervisor sends to all
    # processes of the group would end those of Ray in any order, each with a trace.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.name == "posix":
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def take() -> Unit | None:
        channel.send(("take", None))
        unit: Unit | None = channel.recv()
        return unit

    def send(kind: str, content: Any = None) -> None:
        with suppress(OSError):  # nobody listens any more
            channel.send((kind, content))

    os.environ.update(_SETTINGS)
    try:
        with _own(cores) if address is None else _session(address) as (ray, scratch):
            for message in _train(ray, take, scratch, limit, on_cluster=address is not None):
                channel.send(message)
    except (EOFError, BrokenPipeError):  # of the channel: the other end is gone
        return
    except (OSError, ImportError) as error:
        send("error", error)
    except Exception:
        send("error", RuntimeError(traceback.format_exc()))
    else:
        send("end")


def _train(
    ray: Any,
    take: Callable[[], Unit | None],
    scratch: Path | None,
    limit: int | None,
    on_cluster: bool,
) -> Iterator[tuple[str, Any]]:
    """Yield pairs ("finished", (unit, records)), and every few seconds ("workers", number).

    Sending the number also shows whether anybody still listens.
    """
    tasks = _Tasks(ray, scratch)
    unit = take()
    while True:
        cores = int(ray.cluster_resources().get("CPU", 0))  # none, if its nodes are all gone
        workers = max(1, cores if limit is None else min(cores, limit))
        yield "workers", workers
        if unit is None and not tasks.running:
            return
        # what is taken is claimed: take few more than can run, and leave the rest to other runs
        window = 2 * workers if limit is None or not on_cluster else min(2 * workers, limit)
        while unit is not None and len(tasks.running) < window:
            error = tasks.start(unit)
            if error is not None:
                yield "finished", (unit, error)
            unit = take()
        for finished in tasks.finished():
            yield "finished", finished


class _Tasks:
    """Units in flight, and what they read."""

    def __init__(self, ray: Any, cache: Path | None) -> None:
        self.ray, self.cache = ray, cache
        # our own exceptions are results; Ray retries only what died
        remote = ray.remote(num_cpus=1, max_retries=_RETRIES)
        self.prepare, self.fit = remote(_prepare), remote(_fit)
        self.running: dict[Any, tuple[Unit, str]] = {}  # with the key of the preparation
        self.prepared: dict[str, Any] = {}  # by key of the preparation, the last used last

    def start(self, unit: Unit) -> list[Record] | None:
        """Send a unit; return its failed records if it cannot even be sent."""
        try:
            key = preparation(unit)
        except Exception:
            return failed(unit, traceback.format_exc())
        prepared = self.prepared.pop(key, None)
        if prepared is None:
            prepared = self.prepare.remote(_with_absolute_path(unit), self.cache)
        self.prepared[key] = prepared
        # units in flight keep a reference to what they read; the rest is freed without one
        while len(self.prepared) > _KEPT:
            del self.prepared[next(iter(self.prepared))]
        self.running[self.fit.remote(unit, prepared)] = unit, key
        return None

    def finished(self) -> Iterator[Finished]:
        """Yield the units that are finished now, or soon."""
        if not self.running:
            return
        ready, _ = self.ray.wait(list(self.running), timeout=_LOOK)
        for reference in ready:
            unit, key = self.running.pop(reference)
            try:
                records: list[Record] = self.ray.get(reference)
            except self.ray.exceptions.RayError as error:  # out of memory, of retries, ...
                records = failed(unit, f"Ray gave it up: {type(error).__name__}: {error}")
                # what the unit reads may be lost: other units make it again
                self.prepared.pop(key, None)
            yield unit, records


def _prepare(unit: Unit, cache: Path | None) -> PreparedTask | str:
    """A task of Ray: return what units read, or the traceback if that cannot be made."""
    _use_one_thread()
    try:
        return prepare(unit, None if cache is None else cache / "fields")
    except Exception:
        return traceback.format_exc()


def _fit(unit: Unit, prepared: PreparedTask | str) -> list[Record]:
    """A task of Ray: return the records of a unit."""
    _use_one_thread()
    return failed(unit, prepared) if isinstance(prepared, str) else fit_unit(unit, prepared)


def _use_one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _with_absolute_path(unit: Unit) -> Unit:
    """The unit with the absolute path of its task, if that is a file: workers start elsewhere."""
    task = unit.row.task
    if not os.path.isfile(task):
        return unit
    return replace(unit, row=replace(unit.row, task=os.path.abspath(task)))


# --- sessions -------------------------------------------------------------------------------


@contextmanager
def _own(cores: int) -> Iterator[_Session]:
    """Yield a local Ray that ends with the block, and a folder that does too."""
    # Ray puts sockets there, whose paths may have 107 characters in all
    parent = Path("/tmp") if os.name == "posix" else None
    with scratch_folder("npf", parent) as scratch:
        os.environ.update(
            # its ports are open to others, so it needs a token, which only its processes see
            RAY_AUTH_TOKEN=secrets.token_hex(32),
            RAY_TMPDIR=str(scratch),
            TMPDIR=str(scratch),  # libraries leave temporary files behind: they go with the folder
        )
        options = {"num_cpus": cores, "include_dashboard": False}
        with _session("local", scratch, **options) as session:
            yield session


@contextmanager
def _session(address: str, scratch: Path | None = None, **options: Any) -> Iterator[_Session]:
    """Yield Ray, connected inside the block and only there, and the folder of a local Ray."""
    ray: Any = need("ray", "ray")
    if not hasattr(ray.exceptions, "AuthenticationError"):
        raise ImportError('this needs a version of Ray with tokens: pip install "ray>=2.52"')
    try:
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **options)
        except ray.exceptions.AuthenticationError as error:
            reason = str(error).partition(". ")[0]
            raise PermissionError(
                f"the Ray cluster {address!r} wants a token: set RAY_AUTH_TOKEN to it, or "
                f"RAY_AUTH_TOKEN_PATH to a file that has it ({reason})"
            ) from None
        except ConnectionError as error:
            if "uthenticat" not in str(error.__cause__):
                raise ConnectionError(str(error)) from None
            raise PermissionError(
                f"the Ray cluster {address!r} refused the token: RAY_AUTH_TOKEN, or the file "
                "RAY_AUTH_TOKEN_PATH, must have the token of its nodes"
            ) from None
        yield ray, scratch
    finally:
        ray.shutdown()


def _reach(address: str) -> None:
    """Check that something answers: Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if "/" in address or not colon or not port.isdigit():  # "auto", or for Ray to judge
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACH).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"no Ray cluster at {address!r}: {error}") from None

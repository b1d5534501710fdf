"""The local engine: processes of one thread each, or one process per device.

What many units read (Gram fields, graphs) is made by the first worker that needs it and written
to a folder, from which the others map it into memory. A worker that dies loses its own unit and
nothing else. Workers end when the process that started them does, however that ended.
"""

from __future__ import annotations

import hashlib
import multiprocessing as mp
import os
import signal
import tempfile
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from pointforms.bench.fitting import failed, fit_unit, preparation, prepare
from pointforms.bench.records import Record, Unit
from pointforms.support.files import atomic
from pointforms.support.formatting import warning_line
from pointforms.support.scratch import remove_folder, scratch_folder

Finished = tuple[Unit, list[Record]]

_GRACE = 2.0  # seconds between the ends of the processes of a run
_STARTED = "started"  # what a worker says first
_CANNOT_START = (
    "a training process could not start: its error is above. In a script of your own, call `run` "
    "under `if __name__ == '__main__':`, since training processes import the script"
)


class LocalEngine:
    """Train units in processes of this machine.

    Parameters
    ----------
    workers : int
        Number of processes.
    devices : tuple of str, default ()
        Torch devices, one process each, instead of `workers` processes on the CPU.

    Examples
    --------
    >>> LocalEngine(2).workers, LocalEngine(2, ("cuda:0",)).workers
    (2, 1)
    """

    name = "local"

    def __init__(self, workers: int, devices: tuple[str, ...] = ()) -> None:
        self.workers = len(devices) or workers
        self.devices = devices or ("cpu",) * workers

    def run(self, take: Callable[[], Unit | None]) -> Generator[Finished, None, None]:
        """Train the units that `take` returns until it returns None; yield each when finished."""
        with scratch_folder() as scratch:
            crew = [_Worker(scratch, device) for device in self.devices]  # not started yet
            try:
                jobs = _Jobs(scratch, take)
                while True:
                    for worker in crew:
                        if worker.job is None and (job := jobs.next_for(crew)) is not None:
                            worker.send(job)
                    busy = {worker.channel: worker for worker in crew if worker.job is not None}
                    if not busy:
                        return
                    for channel in wait(list(busy)):
                        finished = busy[channel].receive(crew)  # type: ignore[index]
                        if finished is not None:
                            yield finished
            finally:
                for worker in crew:
                    worker.stop()


@dataclass(frozen=True)
class _Job:
    """A unit, and the file of what it reads, which units of equal preparation share."""

    unit: Unit
    file: Path

    def must_wait(self, crew: list[_Worker]) -> bool:
        """Whether another worker is making what this unit reads."""
        return not self.file.exists() and any(w.job and w.job.file == self.file for w in crew)


class _Jobs:
    """Units in order, except that those whose preparation is being made come a little later."""

    def __init__(self, scratch: Path, take: Callable[[], Unit | None]) -> None:
        self.scratch, self.take = scratch, take
        self.waiting: deque[_Job] = deque()
        self.exhausted = False

    def next_for(self, crew: list[_Worker]) -> _Job | None:
        """Return a unit that can start now; None if there is none, or none yet."""
        for _ in range(len(self.waiting)):
            job = self.waiting.popleft()
            if not job.must_wait(crew):
                return job
            self.waiting.append(job)
        # look a little ahead only: what is taken is claimed, and other runs may want it
        while not self.exhausted and len(self.waiting) < len(crew):
            unit = self.take()
            if unit is None:
                self.exhausted = True
                break
            name = hashlib.sha256(preparation(unit).encode()).hexdigest()[:16]
            job = _Job(unit, self.scratch / f"{name}.pt")
            if not job.must_wait(crew):
                return job
            self.waiting.append(job)
        return None


class _Worker:
    """A process that trains one unit after another. It starts with the first one.

    If it dies, the next unit gets a new process.

    Attributes
    ----------
    started : bool
        Whether one of its processes has imported its modules.
    """

    channel: Connection

    def __init__(self, scratch: Path, device: str) -> None:
        self.scratch, self.device = scratch, device
        self.job: _Job | None = None
        self.process: BaseProcess | None = None
        self.started = False

    def _start(self) -> None:
        context = mp.get_context("spawn")
        self.channel, theirs = context.Pipe()
        self.process = context.Process(
            target=_work, args=(theirs, self.scratch, self.device), daemon=True
        )
        start_out_of_reach(self.process)
        theirs.close()

    def send(self, job: _Job) -> None:
        if self.process is None or not self.process.is_alive():  # it may have died while idle
            self.stop()
            self._start()
        self.job = job
        with suppress(OSError):  # it died just now, which `receive` reports
            self.channel.send((job.unit, job.file))

    def receive(self, crew: list[_Worker]) -> Finished | None:
        """Return its unit with the records, or with how the process ended; None if it started.

        If no process of the crew has ever started, an error while it imports its modules is raised:
        no other process would do better.
        """
        assert self.job is not None
        assert self.process is not None
        try:
            message: str | list[Record] = self.channel.recv()
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
            if code == -signal.SIGTERM:  # whoever ends workers ends this process too, in a moment
                time.sleep(_GRACE)
            self.stop()
            if code == 1 and not any(worker.started for worker in crew):
                raise ChildProcessError(_CANNOT_START) from None
            hint = " (killed: out of memory?)" if code == -9 else ""
            how = f"the training process ended with exit code {code}{hint}"
            message = failed(self.job.unit, how)
        if isinstance(message, str):
            self.started = True
            return None
        job, self.job = self.job, None
        return job.unit, message

    def stop(self) -> None:
        if self.process is not None:
            self.channel.close()
            if self.process.pid is not None:  # it may have failed to start
                self.process.terminate()
                self.process.join()
            self.process = None


def _work(channel: Connection, scratch: Path, device: str) -> None:
    """Run a worker: train what comes through the channel until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it will end it
    # libraries leave temporary files behind: they go with the folder
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)
    warnings.formatwarning = warning_line
    import torch

    torch.set_num_threads(1)
    watch = threading.Thread(target=_end_with_parent, args=(scratch,), daemon=True)
    watch.start()
    kept: dict[Path, Any] = {}  # the last preparation
    with suppress(EOFError, OSError):  # of the channel: the other end is gone
        channel.send(_STARTED)
        while True:
            unit, file = channel.recv()
            try:
                if file not in kept:
                    kept = {file: _prepared(unit, file, scratch, device)}
                records = fit_unit(unit, kept[file], device)
            except Exception:
                records = failed(unit, traceback.format_exc())
            channel.send(records)
    watch.join()  # it tidies up and ends this process, unless `stop` ends it first


def _prepared(unit: Unit, file: Path, scratch: Path, device: str) -> Any:
    """What a unit reads, from the file, which is made if it does not exist.

    The file is a pickle of our own: the folder is new, and belongs to this run alone.
    """
    import torch

    if not file.exists():
        made = prepare(unit, scratch / "fields", "cpu")
        with atomic(file) as partial:
            torch.save(made, partial)
    if device == "cpu":
        return torch.load(file, mmap=True, weights_only=False)
    return torch.load(file, map_location=device, weights_only=False)


def _end_with_parent(scratch: Path) -> None:
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        remove_folder(scratch)
        os._exit(1)


def start_out_of_reach(process: BaseProcess) -> None:
    """Start a process that Ctrl-C in a terminal does not reach: the process that starts it ends it.

    Ctrl-C is sent to all processes of a terminal. This one has not begun to ignore it while it
    imports its modules, so it inherits that the signal is blocked.
    """
    if os.name != "posix":
        process.start()
        return
    resource_tracker.ensure_running()  # `start` would start it, which unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

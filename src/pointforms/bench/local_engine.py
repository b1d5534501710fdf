"""The local engine: processes of one thread each, or one for every device.

What many units read (Gram fields, graphs) is made by the first worker that needs it and written
to a folder, from which the others map it into memory. A worker that dies takes its own unit with
it and nothing else. Workers end when the process that started them does, however that ended.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import shutil
import signal
import tempfile
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from pointforms.bench.fitting import failed, fit_unit, preparation, prepare
from pointforms.bench.records import Record, Unit

Finished = tuple[Unit, list[Record]]


class LocalEngine:
    """Trains units in processes of this machine.

    Parameters
    ----------
    workers : processes
    devices : torch devices, one a worker in turn; the CPU if none are given
    """

    name = "local"

    def __init__(self, workers: int, devices: tuple[str, ...] = ()) -> None:
        self.workers = len(devices) or workers
        self.devices = devices or ("cpu",) * workers

    def run(self, take: Callable[[], Unit | None]) -> Iterator[Finished]:
        """Train the units that `take` gives until it gives None, and yield each when finished."""
        scratch = Path(tempfile.mkdtemp(prefix="pointforms-"))
        crew = [_Worker(scratch, device) for device in self.devices]  # not started yet
        try:
            yield from _Dispatch(crew, scratch, take).run()
        finally:
            for worker in crew:
                worker.stop()
            shutil.rmtree(scratch, ignore_errors=True)


class _Dispatch:
    """Hands units to idle workers, one worker at a time for what is not prepared yet."""

    def __init__(self, crew: list[_Worker], scratch: Path, take: Callable[[], Unit | None]) -> None:
        self.crew, self.scratch, self.take = crew, scratch, take
        self.files: dict[str, Path] = {}  # of preparations, finished or not
        self.making: set[str] = set()
        self.waiting: deque[Unit] = deque()  # for what another worker is making
        self.exhausted = False

    def run(self) -> Iterator[Finished]:
        while True:
            for worker in self.crew:
                if worker.unit is None:
                    unit = self.next_unit()
                    if unit is None:
                        break
                    self.hand(worker, unit)
            busy = {worker.channel: worker for worker in self.crew if worker.unit is not None}
            if not busy:
                return
            for channel in wait(list(busy)):
                worker = busy[channel]  # type: ignore[index]
                unit = worker.unit
                assert unit is not None
                records = worker.receive()
                self.making.discard(preparation(unit))
                yield unit, records

    def next_unit(self) -> Unit | None:
        """A unit that can start now: one that waited, or a new one."""
        for _ in range(len(self.waiting)):
            unit = self.waiting.popleft()
            if preparation(unit) not in self.making:
                return unit
            self.waiting.append(unit)
        # look a little ahead, not through everything there is
        while not self.exhausted and len(self.waiting) < len(self.crew):
            new = self.take()
            if new is None:
                self.exhausted = True
            elif preparation(new) in self.making:
                self.waiting.append(new)
            else:
                return new
        return None

    def hand(self, worker: _Worker, unit: Unit) -> None:
        key = preparation(unit)
        file = self.files.setdefault(key, self.scratch / f"{len(self.files)}.pt")
        if not file.exists():
            self.making.add(key)
        worker.send(unit, file)


class _Worker:
    """A process that trains one unit after another; it starts with the first one.

    If it dies, the next unit has a new process.
    """

    channel: Connection
    process: BaseProcess

    def __init__(self, scratch: Path, device: str) -> None:
        self.scratch, self.device = scratch, device
        self.unit: Unit | None = None
        self.started = False

    def _start(self) -> None:
        context = mp.get_context("spawn")
        self.channel, theirs = context.Pipe()
        self.process = context.Process(
            target=_work, args=(theirs, self.scratch, self.device), daemon=True
        )
        self.process.start()
        self.started = True
        theirs.close()

    def send(self, unit: Unit, file: Path) -> None:
        if self.started and not self.process.is_alive():  # it died while idle
            self.stop()
        if not self.started:
            self._start()
        self.unit = unit
        with suppress(OSError):  # it died just now: `receive` will tell
            self.channel.send((unit, file))

    def receive(self) -> list[Record]:
        """Records of the unit it has, or how the process ended."""
        unit, self.unit = self.unit, None
        assert unit is not None
        try:
            records: list[Record] = self.channel.recv()
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
            self.stop()
            return failed(
                unit,
                f"the process that trained it ended with exit code {code}"
                + (" (killed: out of memory?)" if code == -9 else ""),
            )
        return records

    def stop(self) -> None:
        if self.started:
            self.channel.close()
            self.process.terminate()
            self.process.join()
            self.started = False


def _work(channel: Connection, scratch: Path, device: str) -> None:
    """The life of a worker."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it will end it
    torch.set_num_threads(1)
    watch = threading.Thread(target=_end_with_parent, args=(scratch,), daemon=True)
    watch.start()
    kept: dict[Path, Any] = {}  # the last preparation
    with suppress(EOFError, OSError):  # of the channel: the other end is gone
        while True:
            unit, file = channel.recv()
            try:
                if file not in kept:
                    kept = {file: _prepared(unit, file, scratch, device)}
                records = fit_unit(unit, kept[file], device)
            except Exception:
                records = failed(unit, traceback.format_exc())
            channel.send(records)
    watch.join()  # it tidies up and ends this process, unless that is ended by `stop`


def _prepared(unit: Unit, file: Path, scratch: Path, device: str) -> Any:
    """What a unit reads, from the file, which is made if it is not there.

    The file is a pickle, of our own: the folder is new, and belongs to this run alone.
    """
    import torch

    if not file.exists():
        made = prepare(unit, scratch / "fields", "cpu")
        half = file.with_suffix(".part")
        torch.save(made, half)
        os.replace(half, file)
    if device == "cpu":
        return torch.load(file, mmap=True, weights_only=False)
    return torch.load(file, map_location=device, weights_only=False)


def _end_with_parent(scratch: Path) -> None:
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        for _ in range(100):  # what is being written may appear meanwhile
            shutil.rmtree(scratch, ignore_errors=True)
            if not scratch.exists():
                break
        os._exit(1)

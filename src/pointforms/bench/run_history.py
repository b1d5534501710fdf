"""Runs that a store knows of: where they ran, and whether they are alive."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

# A run without a sign of life for this number of seconds is dead; on its own machine it is dead as
# soon as its process is.
_SILENCE = 120.0
#: How a run ended, in an orderly way.
COMPLETE, STOPPED = 1, 2


@dataclass(frozen=True)
class Run:
    """A run of an engine on a store.

    Attributes
    ----------
    id : int
    title : str
    engine : str
        Name of the engine.
    workers : int
        The largest number of workers it had.
    host, pid : str, int
        Where it ran.
    machine : str
        Processor, cores, system and version of Python.
    version : str
        Version of the package.
    started, seen : float
        Times of its start and of its last sign of life, in seconds since 1970.
    ended : int
        1 if it is complete, 2 if it was stopped before in an orderly way, and 0 otherwise.
    """

    id: int
    title: str
    engine: str
    workers: int
    host: str
    pid: int
    machine: str
    version: str
    started: float
    seen: float
    ended: int

    @property
    def wall(self) -> float:
        """Seconds from the start to the last sign of life; 0 if the clock was set back."""
        return max(0.0, self.seen - self.started)

    @property
    def state(self) -> str:
        """ "ended", "stopped" before its end, "running" or "died".

        For a run on another machine this compares its clock with ours.
        """
        if self.ended:
            return "stopped" if self.ended == STOPPED else "ended"
        return "running" if is_alive(self.host, self.pid, self.seen) else "died"


def machine() -> str:
    """Describe this machine, for reports of cost."""
    python = f"Python {platform.python_version()}"
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, {python}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def is_alive(host: str, pid: int, seen: float) -> bool:
    """Whether a run seems to live, by its process and the time of its last sign of life.

    This can be told at once but trusts that clocks agree. :class:`Vigil` does not.
    """
    return not _process_ended(host, pid) and abs(time.time() - seen) < _SILENCE


class Vigil:
    """Watches runs, and tells which of them have ended without saying so.

    Clocks of other machines may be wrong, and any clock may be set. So the time of a sign of life
    is never compared with our own: a run is over if that time, whatever it is, has not changed
    for two minutes during which we watched.

    Examples
    --------
    >>> Vigil().is_over(1, "elsewhere", 4711, seen=1e12)  # seen now for the first time
    False
    """

    def __init__(self) -> None:
        self._last: dict[int, tuple[float, float]] = {}  # sign of life, and when it came to us

    def is_over(self, run: int, host: str, pid: int, seen: float) -> bool:
        """Whether a run has ended, by its number, machine, process and last sign of life."""
        now = time.monotonic()
        last, since = self._last.get(run, (None, now))
        self._last[run] = seen, since if seen == last else now
        return _process_ended(host, pid) or now - self._last[run][1] >= _SILENCE


def _process_ended(host: str, pid: int) -> bool:
    """Whether a process of this machine has ended; False for those of other machines."""
    if host != platform.node():
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # gone, or no number of a process
        return True
    except PermissionError:  # another user's
        pass
    return False

"""Runs that a store knows of: where they ran, and whether they are alive."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

# A run without a sign of life for this number of seconds is dead; on its own machine it is dead as
# soon as its process is.
_DEAD = 120.0


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
        1 if it ended in an orderly way.
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
        """Seconds from the start to the last sign of life."""
        return self.seen - self.started

    @property
    def state(self) -> str:
        """ "ended", "running" or "died"."""
        if self.ended:
            return "ended"
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
    """Whether a run lives, by its machine, its process and the time of its last sign of life."""
    if host == platform.node():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # another user's
            pass
    return time.time() - seen < _DEAD

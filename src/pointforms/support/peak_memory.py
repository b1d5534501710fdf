"""Measure the peak memory of this process since a given moment."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress

_CLEAR = "/proc/self/clear_refs"


def can_reset() -> bool:
    """Whether the system allows a process to reset its peak."""
    return os.access(_CLEAR, os.W_OK)


def reset_peak() -> None:
    """Start measuring the peak from now on, if :func:`can_reset`."""
    with suppress(OSError), open(_CLEAR, "w") as file:
        file.write("5")


def memory(name: str) -> int | None:
    """Return a memory figure of this process in bytes, or None where there is no /proc.

    Parameters
    ----------
    name : str
        "VmHWM" for the peak, "VmRSS" for the memory in use now.

    Examples
    --------
    >>> used = memory("VmRSS")
    >>> used is None or used <= peak()
    True
    """
    return _kilobytes("/proc/self/status", name)


def available_memory() -> int | None:
    """Return the bytes that new processes can use without swapping; None where there is no /proc.

    Examples
    --------
    >>> free = available_memory()
    >>> free is None or free > 0
    True
    """
    return _kilobytes("/proc/meminfo", "MemAvailable")


def _kilobytes(path: str, name: str) -> int | None:
    try:
        with open(path) as file:
            lines = [line for line in file if line.startswith(f"{name}:")]
    except OSError:
        return None
    return int(lines[0].split()[1]) * 1024 if lines else None


def peak() -> int:
    """Return the peak in bytes since :func:`reset_peak`, or else of the whole process.

    Examples
    --------
    >>> peak() > 0
    True
    """
    measured = memory("VmHWM")
    if measured is not None:
        return measured
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

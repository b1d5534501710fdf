"""The peak of a process's memory, from a moment on."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress

_CLEAR = "/proc/self/clear_refs"


def can_reset() -> bool:
    """Whether the system can let a peak start anew."""
    return os.access(_CLEAR, os.W_OK)


def reset_peak() -> None:
    """Let the peak start anew, where the system can."""
    # where it may not be written, the peak is that of the process's whole life
    with suppress(OSError), open(_CLEAR, "w") as file:
        file.write("5")


def memory(name: str) -> int | None:
    """Bytes that Linux has of this process: "VmHWM" is the peak, "VmRSS" what is used now."""
    try:
        with open("/proc/self/status") as file:
            lines = [line for line in file if line.startswith(f"{name}:")]
    except OSError:
        return None
    return int(lines[0].split()[1]) * 1024 if lines else None


def peak() -> int:
    """The peak in bytes since `reset_peak`, or of the whole life of the process."""
    found = memory("VmHWM")
    if found is not None:
        return found
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

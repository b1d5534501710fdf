"""Temporary folders that do not outlive their process, however that ends.

A process that is killed cannot remove its folder. The name of a folder therefore says which process
made it, and whoever makes the next one in the same place removes those whose process is gone.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import count
from pathlib import Path


@contextmanager
def scratch_folder(name: str = "pointforms", parent: Path | None = None) -> Iterator[Path]:
    """Yield a new folder for this user alone, which is removed at the end of the block.

    Folders of the same name that processes of this machine have left behind are removed first.

    Parameters
    ----------
    name : str, default "pointforms"
        How the name of the folder begins.
    parent : Path, optional
        Where to make it (default: the folder of temporary files).

    Yields
    ------
    Path
        The folder, which only this user can read.

    Examples
    --------
    >>> with scratch_folder() as folder:
    ...     _ = (folder / "fields.pt").write_bytes(b"")
    >>> folder.exists()
    False
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    remove_abandoned(parent, name)
    folder = _make(parent, f"{name}-{_place()}-{os.getpid():x}-{_start(os.getpid()) or 0:x}")
    try:
        yield folder
    finally:
        remove_folder(folder)


def remove_abandoned(parent: Path, name: str = "pointforms") -> None:
    """Remove the scratch folders of processes of this machine and user that are gone.

    Parameters
    ----------
    parent : Path
        Where the folders are.
    name : str, default "pointforms"
        How their names begin.
    """
    pattern = re.compile(rf"{re.escape(name)}-{_place()}-([0-9a-f]+)-([0-9a-f]+)-\d+")
    for path in parent.glob(f"{name}-*"):
        match = pattern.fullmatch(path.name)
        if match is None or _is_alive(*(int(number, 16) for number in match.groups())):
            continue
        with suppress(OSError):  # another process removes it too
            if not hasattr(os, "geteuid") or path.lstat().st_uid == os.geteuid():
                shutil.rmtree(path, ignore_errors=True)  # it follows no link


def remove_folder(folder: Path) -> None:
    """Remove a folder in which processes that are ending may still write."""
    for _ in range(50):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


def _make(parent: Path, owner: str) -> Path:
    for number in count():
        folder = parent / f"{owner}-{number}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            return folder
    raise AssertionError  # numbers do not end


def _place() -> str:
    """Digits for the machine, or the container, in which the number of a process has a meaning."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return sha256(f"{platform.node()} {namespace}".encode()).hexdigest()[:8]


def _start(pid: int) -> int | None:
    """When a process started, in ticks since the machine did; None if it is gone or unknown.

    Numbers of processes are used again; a number and its start are not.
    """
    try:
        content = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    state, *numbers = content.rpartition(")")[2].split()
    return None if state in "ZX" else int(numbers[18])


def _is_alive(pid: int, start: int) -> bool:
    if Path("/proc/self/stat").exists():
        return _start(pid) == start
    if os.name != "posix":  # no harmless way to ask: the folder stays
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True

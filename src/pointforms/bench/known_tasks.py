"""What a manifest may call a task: built-in ones, prepared ones, and files."""

from __future__ import annotations

import difflib
import hashlib
import inspect
from collections.abc import Iterable
from pathlib import Path

from pointforms import tasks
from pointforms.paper.organoids.prepare import BY_FOLD, SIZES
from pointforms.paper.organoids.task import prepared_folder, read_facts
from pointforms.tasks.files import SUFFIXES

# What the digest of simulated cells begins with: tables say it.
SIMULATED = "simulated-"
_RECORDED: dict[str, tuple[int, int]] = {"japanese-vowels": (640, 29)}


def known_tasks() -> list[str]:
    """Built-in tasks, then the prepared ones."""
    return list(dict.fromkeys([*tasks.names(), *SIZES]))


def find_task(written: str, folder: Path) -> str:
    """The task that was written: a name as it is, a file of that folder as its whole path."""
    if written in known_tasks():
        return written
    if Path(written).suffix.lower() not in SUFFIXES:
        known = [*known_tasks(), f"files that end in {', '.join(SUFFIXES)}"]
        raise ValueError(f"no task {written!r}: {nearest(written, known)}")
    path = folder / written
    if not path.is_file():
        beside = path.parent.glob("*") if path.parent.is_dir() else ()
        files = sorted(p.name for p in beside if p.suffix.lower() in SUFFIXES)
        hint = nearest(path.name, files) if files else "paths start at the manifest's folder"
        raise ValueError(f"no file {written!r}: {hint}")
    return path.resolve().as_posix()


def depends_on_fold(task: str) -> bool:
    """Whether a task's coordinates are fitted in every fold."""
    return task in BY_FOLD


def digest(task: str) -> str | None:
    """Of a file's or a prepared task's content; None for a task that is made by its name."""
    if task in SIZES:
        folder = prepared_folder() / task
        if not (folder / "task.json").is_file():
            return None  # not prepared yet, which a plan may be made of
        mark = SIMULATED if read_facts(folder)["simulated"] else ""
        return mark + _digest(folder / "clouds.npz")
    return None if task in known_tasks() else _digest(Path(task))


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def full_size(task: str) -> tuple[int, int] | None:
    """Clouds, and points of the largest, of a task as it is; None for files."""
    sizes = _made_sizes(task)
    return (sizes["clouds"], sizes["points"]) if sizes else _RECORDED.get(task)


def check_size(task: str, name: str, value: int) -> None:
    """Refuse `clouds` or `points` that a task cannot have."""
    if name not in _made_sizes(task):
        raise ValueError(f"{name} = {value}: {Path(task).name} has a fixed size")
    least = {"clouds": tasks._FEWEST_CLOUDS, "points": tasks._FEWEST_POINTS}[name]
    if value < least:
        raise ValueError(f"{name} = {value}: expected at least {least}")


def nearest(word: str, known: Iterable[str]) -> str:
    """What may have been meant, or else what there is."""
    there = list(known)
    close = difflib.get_close_matches(word.lower(), there, 1, 0.5)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(there)}"


def _made_sizes(task: str) -> dict[str, int]:
    """Usual sizes of a task that can be had in any size; empty for others."""
    if task in SIZES:
        return dict(zip(("clouds", "points"), SIZES[task], strict=True))
    if task not in tasks._MAKERS:
        return {}
    arguments = inspect.signature(tasks._MAKERS[task]).parameters
    return {name: arguments[name].default for name in ("clouds", "points") if name in arguments}

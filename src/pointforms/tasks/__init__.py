"""Labelled sets of clouds, by name."""

from __future__ import annotations

from collections.abc import Callable

from pointforms.tasks.rna import rna_velocity
from pointforms.tasks.synthetic import circles_vs_lines
from pointforms.tasks.task import Task

_MAKERS: dict[str, Callable[..., Task]] = {
    "circles-vs-lines": circles_vs_lines,
    "rna-velocity": rna_velocity,
}


def names() -> list[str]:
    """The tasks that can be loaded."""
    return list(_MAKERS)


def load(name: str, seed: int = 0) -> Task:
    """A task by its name; the same seed gives the same clouds."""
    if name not in _MAKERS:
        raise ValueError(f"no task {name!r}: there are {', '.join(_MAKERS)}")
    return _MAKERS[name](seed)


__all__ = ["Task", "load", "names"]

"""Labelled sets of clouds: built-in tasks by name, and users' own files."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from pointforms.geometry.settings import check_int
from pointforms.tasks import density, planar, rna, singlecell, vowels
from pointforms.tasks.files import read, write
from pointforms.tasks.task import Task

_MAKERS: dict[str, Callable[..., Task]] = {
    "circles-vs-lines": planar.circles_vs_lines,
    "concentric-circles": planar.concentric_circles,
    "parallel-lines": planar.parallel_lines,
    "colocated": planar.colocated,
    "density-check": density.density_check,
    "density-shift": density.density_shift,
    "singlecell": singlecell.singlecell,
    "rna-velocity": rna.rna_velocity,
    "rna-velocity-quick": rna.rna_velocity_quick,
    "japanese-vowels": vowels.japanese_vowels,
}
# Two of each class in every fold.
_FEWEST_CLOUDS, _FEWEST_POINTS = 20, 2


def names() -> list[str]:
    """The tasks that can be loaded."""
    return list(_MAKERS)


def about(name: str) -> str:
    """What a task is made of, and what for."""
    return inspect.getdoc(_MAKERS[name]) or ""


def load(name: str, seed: int = 0, clouds: int | None = None, points: int | None = None) -> Task:
    """A task by its name; the same seed gives the same values on every machine.

    Parameters
    ----------
    name : one of :func:`names`, or "pdo-efp" and so on, which `npf pdo prepare` has written
    seed : int
    clouds, points : int or None
        How many clouds, and how many points in each (at most, where sizes differ); None is the
        paper's size.
    """
    if name.startswith("pdo-"):
        from pointforms.paper.organoids.task import load_prepared

        return load_prepared(name, seed, clouds, points)
    if name not in _MAKERS:
        raise ValueError(f"no task {name!r}: there are {', '.join(_MAKERS)}")
    check_int("seed", seed, at_least=0)
    sizes = {}
    for option, value, least in (
        ("clouds", clouds, _FEWEST_CLOUDS),
        ("points", points, _FEWEST_POINTS),
    ):
        if value is None:
            continue
        if option not in inspect.signature(_MAKERS[name]).parameters:
            raise ValueError(f"{option}={value}: {name} is recorded data of a fixed size")
        check_int(option, value, at_least=least)
        sizes[option] = value
    return _MAKERS[name](seed, **sizes)


__all__ = ["Task", "about", "load", "names", "read", "write"]

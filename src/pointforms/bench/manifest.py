"""Manifests: TOML files of sweeps, checked whole before anything runs.

title = "What this compares"       # optional
folds = 5                          # how many of the five, or a list such as [0, 1]
seeds = 5                          # how many, or a list

[[sweep]]
tasks = ["circles-vs-lines", "cells.parquet"]  # names, or files beside the manifest
models = ["npf-tri-1", "npf-flat-1"]
seeds = 1                          # folds and seeds of this sweep only, optional
clouds = 120                       # sizes and seed of the tasks, optional
points = 64
task_seed = 0
together = 25                      # fits trained together; the seeds of one fold if not given
[sweep.options]                    # of every model of the sweep
epochs = 30
[sweep.grid]                       # lists: every combination is a row
learning_rate = [1e-3, 1e-2]
bandwidth_policy = ["fixed", "variable"]
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from pointforms.bench.records import Row, Unit
from pointforms.bench.sweep import Sweep, read_folds, read_seeds, read_sweep
from pointforms.bench.toml_lines import Fault, line_of, toml_lines
from pointforms.models.options import shown, stackable
from pointforms.support.suggestions import suggest
from pointforms.tasks.catalogue import depends_on_fold
from pointforms.tasks.task import FOLDS

_KEYS = ("title", "folds", "seeds", "sweep")
_MANIFESTS = files("pointforms.bench") / "manifests"


@dataclass(frozen=True)
class Manifest:
    """Sweeps; a fit (row, fold, seed) that several of them name is one fit.

    Attributes
    ----------
    title : str
    sweeps : of which each is a set of rows, folds and seeds
    """

    title: str
    sweeps: tuple[Sweep, ...]

    def rows(self) -> list[Row]:
        """Every row once, in the order of the file."""
        return list(self._fits)

    def units(self) -> list[Unit]:
        """All fits, grouped as they are trained.

        Fits of a row whose model can be stacked share a unit: the seeds of one fold, or as many
        folds as `together` allows, or a part of one. Others are alone.
        """
        return [
            Unit(row, part)
            for row, fits in self._fits.items()
            for part in _parts(sorted(fits), self._limit(row))
        ]

    def _limit(self, row: Row) -> int | None:
        """Fits of a row that may be trained together; None is the seeds of one fold."""
        if not stackable(row.model):
            return 1
        return None if depends_on_fold(row.task) else self._together[row]

    @property
    def fits(self) -> int:
        """How many fits there are."""
        return sum(len(fits) for fits in self._fits.values())

    @cached_property
    def _fits(self) -> dict[Row, set[tuple[int, int]]]:
        found: dict[Row, set[tuple[int, int]]] = {}
        for sweep in self.sweeps:
            pairs = {(fold, seed) for fold in sweep.folds for seed in sweep.seeds}
            for row in sweep.rows():
                found.setdefault(row, set()).update(pairs)
        return found

    @cached_property
    def _together(self) -> dict[Row, int | None]:
        """The limit of every row: of the first sweep that names it and has one."""
        found: dict[Row, int | None] = {}
        for sweep in self.sweeps:
            for row in sweep.rows():
                found[row] = sweep.together if found.get(row) is None else found[row]
        return found


def read_manifest(source: str | os.PathLike[str]) -> Manifest:
    """A manifest from a TOML file, or one that comes with the package, by its name.

    Whatever is wrong in it, down to a model's option, is a ValueError with file and line.
    """
    label, text, folder = _find(source)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, line = _syntax(str(error), text)
        raise ValueError(f"{label}, line {line}: not TOML: {message}") from None
    try:
        return _read(content, folder, Path(label).stem)
    except Fault as fault:
        line = line_of(toml_lines(text), fault.where)
        raise ValueError(f"{label}, line {line}: {fault}") from None


def shipped() -> list[str]:
    """Names of the manifests that come with the package."""
    found = (item.name for item in _MANIFESTS.iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


def _find(source: str | os.PathLike[str]) -> tuple[str, str, Path]:
    """What a manifest is called, its text, and the folder where its paths start."""
    label = os.fspath(source)
    if label in shipped():
        return label, (_MANIFESTS / f"{label}.toml").read_text("utf-8"), Path()
    path = Path(source)
    if not path.is_file():
        raise ValueError(f"no manifest {label!r}: {suggest(path.stem, shipped())}")
    raw = path.read_bytes()
    try:
        # as tomllib: positions count lines, however they end
        return label, raw.decode("utf-8").replace("\r\n", "\n"), path.parent
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ValueError(f"{label}, line {line}: not UTF-8 text") from None


def _syntax(message: str, text: str) -> tuple[str, int]:
    """What tomllib says is wrong, and the line."""
    found = re.search(r"line (\d+)", message)
    line = int(found.group(1)) if found else max(1, len(text.splitlines()))
    return re.sub(r" \(at .*\)$", "", message), line


def _read(content: dict[str, Any], folder: Path, name: str) -> Manifest:
    for key in content:
        if key not in _KEYS:
            hint = "it belongs to a [[sweep]]"
            if key not in Sweep.__dataclass_fields__:
                hint = suggest(key, _KEYS)
            raise Fault((key,), f"{key!r} is nothing at the top of a manifest: {hint}")
    title, sweeps = content.get("title", name), content.get("sweep", [])
    if not isinstance(title, str):
        raise Fault(("title",), f"title = {shown(title)}: expected text")
    if not isinstance(sweeps, list):
        raise Fault(("sweep",), "sweep is one table: write [[sweep]], with two brackets")
    if not sweeps:
        raise Fault(("sweep",), "no sweep: a manifest has one or several [[sweep]]")
    usual = {
        "folds": read_folds(content.get("folds", FOLDS), ("folds",)),
        "seeds": read_seeds(content.get("seeds", 1), ("seeds",)),
    }
    return Manifest(
        title,
        tuple(read_sweep(sweep, ("sweep", i), folder, usual) for i, sweep in enumerate(sweeps)),
    )


def _parts(
    fits: list[tuple[int, int]], together: int | None
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Sorted fits in parts: whole folds where they fit, else pieces of one."""
    part: list[tuple[int, int]] = []
    for fold in sorted({fold for fold, _ in fits}):
        own = [fit for fit in fits if fit[0] == fold]
        limit = len(own) if together is None else together
        if part and len(part) + len(own) > limit:
            yield tuple(part)
            part = []
        part += own
        while len(part) > limit:
            yield tuple(part[:limit])
            part = part[limit:]
    if part:
        yield tuple(part)

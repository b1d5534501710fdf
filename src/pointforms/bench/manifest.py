"""Manifests: TOML files of sweeps, validated completely before anything runs.

title = "What this compares"       # optional
folds = 5                          # how many of the five, or a list such as [0, 1]
seeds = 5                          # how many, or a list
task_seeds = [10, 11, 12]          # seeds of the tasks: each sweep runs on all; default [0]

[[sweep]]
tasks = ["circles-vs-lines", "cells.parquet"]  # names, or files beside the manifest
models = ["npf-tri-1", "npf-flat-1"]
seeds = 1                          # folds and seeds of this sweep only, optional
clouds = 120                       # sizes of the tasks, optional
points = 64
task_seed = 0                      # one seed of the tasks, in place of the manifest's task_seeds
together = 25                      # fits trained together; by default the seeds of one fold
[sweep.options]                    # of every model of the sweep
epochs = 30
[sweep.reading]                    # columns of files among the tasks; see pointforms.io.ReadOptions
label = "response"
[sweep.grid]                       # lists: every combination is a row
learning_rate = [1e-3, 1e-2]
bandwidth_policy = ["fixed", "variable"]
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from pointforms.bench.moved_files import file_of, paths_of
from pointforms.bench.records import Row, Unit
from pointforms.bench.sweep import Folds, Seeds, Sweep, TaskSeeds, unknown_key
from pointforms.bench.validation import NestedError, first_error
from pointforms.io import ReadOptions
from pointforms.models.options import stackable
from pointforms.support.suggestions import suggest
from pointforms.tasks.catalogue import content_digest, depends_on_fold, full_size
from pointforms.tasks.task import FOLDS

_MANIFESTS = files("pointforms.bench") / "manifests"


@dataclass(frozen=True)
class Manifest:
    """Sweeps that run together; a fit (row, fold, seed) that several of them name is one fit.

    Rows, and the digests of files among the tasks, are computed once.

    Parameters
    ----------
    title : str
        What the manifest compares.
    sweeps : tuple of Sweep
        Each is a set of rows, folds and seeds.

    Examples
    --------
    >>> sweep = Sweep(tasks=["colocated"], models=["mlp", "svm"], folds=2)
    >>> manifest = Manifest("Small", (sweep,))
    >>> len(manifest.rows()), manifest.fits
    (2, 4)
    """

    title: str
    sweeps: tuple[Sweep, ...]

    def rows(self) -> list[Row]:
        """Return every row once, in the order of the file."""
        return list(self._fits)

    def units(self) -> list[Unit]:
        """Return all fits, grouped as they are trained.

        Fits of a row whose model can be stacked share a unit: the seeds of one fold, or as many
        folds as `together` allows, or a part of one. Other fits are units by themselves.
        """
        return [
            Unit(row, part)
            for row, planned in self._fits.items()
            for part in _parts(sorted(planned.fits), _limit(row, planned.together))
        ]

    @property
    def fits(self) -> int:
        """Number of fits."""
        return sum(len(planned.fits) for planned in self._fits.values())

    def without(self, *tasks: str) -> Manifest:
        """Return the manifest without some of its tasks."""
        shorter = (
            sweep.model_copy(update={"tasks": tuple(t for t in sweep.tasks if t not in tasks)})
            for sweep in self.sweeps
        )
        return Manifest(self.title, tuple(sweep for sweep in shorter if sweep.tasks))

    def with_reading(self, options: Mapping[str, Any]) -> Manifest:
        """Return the manifest with options of reading its files, in addition to those it has.

        Parameters
        ----------
        options : mapping
            Options of :class:`pointforms.io.ReadOptions`.
        """
        if not options:
            return self
        tasks = [task for sweep in self.sweeps for task in sweep.tasks]
        if all(full_size(task) is not None for task in tasks):
            raise ValueError(
                f"{next(iter(options))}: the manifest has no file, and columns are chosen in files "
                "only"
            )
        changed = (
            sweep.model_copy(
                update={"reading": ReadOptions.of({**sweep.reading, **options}).differing()}
            )
            for sweep in self.sweeps
        )
        return Manifest(self.title, tuple(changed))

    @cached_property
    def _fits(self) -> dict[Row, _Planned]:
        """The fits of every row, and the first limit that a sweep sets for it."""
        tasks = dict.fromkeys(task for sweep in self.sweeps for task in sweep.tasks)
        contents = {task: content_digest(task) for task in tasks}
        by_row: dict[Row, _Planned] = {}
        for sweep in self.sweeps:
            pairs = {(fold, seed) for fold in sweep.folds for seed in sweep.seeds}
            for row in sweep.rows(contents):
                planned = by_row.setdefault(row, _Planned())
                planned.fits |= pairs
                planned.together = planned.together or sweep.together
        _check_copies(by_row)
        return by_row


@dataclass
class _Planned:
    """The fits of a row, and how many of them may be trained together."""

    fits: set[tuple[int, int]] = field(default_factory=set)
    together: int | None = None


def _check_copies(rows: Iterable[Row]) -> None:
    """Raise an error if two files have the same content: fits of one are those of the other."""
    seen: dict[str, Row] = {}
    for row in rows:
        file = file_of(row)
        if file is None:
            continue
        first = seen.setdefault(file, row)
        pairs = zip(paths_of(row), paths_of(first), strict=True)
        for path, other in pairs:
            if path != other:
                raise ValueError(f"{path} has the content of {other}: leave one of them out")


def _limit(row: Row, together: int | None) -> int | None:
    """Number of fits of a row that may be trained together; None for the seeds of one fold."""
    if not stackable(row.model):
        return 1
    return None if depends_on_fold(row.task) else together


def _sweeps(value: object) -> object:
    if isinstance(value, dict):
        raise ValueError("one table: write [[sweep]], with two brackets")
    if value in ([], ()):
        raise ValueError("no sweep: a manifest has one or several [[sweep]]")
    return tuple(value) if isinstance(value, list) else value


class _ManifestFile(BaseModel):
    """The content of a manifest's file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str | None = None
    folds: Folds = tuple(range(FOLDS))
    seeds: Seeds = (0,)
    task_seeds: TaskSeeds = (0,)
    sweep: Annotated[tuple[Sweep, ...], BeforeValidator(_sweeps)] = Field((), validate_default=True)

    @model_validator(mode="after")
    def _check_counts(self) -> Self:
        for i, sweep in enumerate(self.sweep):
            try:
                self._completed(sweep).check_count()
            except NestedError as error:
                raise NestedError(("sweep", i, *error.path), str(error)) from None
        return self

    def _completed(self, sweep: Sweep) -> Sweep:
        """A sweep with the manifest's folds and seeds where it has none."""
        usual = {"folds": self.folds, "seeds": self.seeds}
        missing = usual.keys() - sweep.model_fields_set
        return sweep.model_copy(update={name: usual[name] for name in missing})

    def sweeps(self) -> Iterator[Sweep]:
        """Yield the sweeps: one per seed of the tasks, unless a sweep has its own."""
        for sweep in map(self._completed, self.sweep):
            if "task_seed" in sweep.model_fields_set:
                yield sweep
            else:
                for seed in self.task_seeds:
                    yield sweep.model_copy(update={"task_seed": seed})


def read_manifest(source: str | os.PathLike[str]) -> Manifest:
    """Read a manifest from a TOML file, or one that comes with the package, by its name.

    Parameters
    ----------
    source : str or path-like
        A TOML file, or one of :func:`shipped`.

    Returns
    -------
    Manifest

    Raises
    ------
    ValueError
        If anything in it is wrong, down to the options of a model. The message names the file and
        the path of the key, such as `sweep[1].grid.weight_decay`, or the line of a syntax error.

    Examples
    --------
    >>> import pointforms.bench as bench
    >>> manifest = bench.read_manifest("synthetic-quick")
    >>> manifest.title, len(manifest.rows()), manifest.fits
    ('Synthetic tasks, quick', 48, 96)
    """
    label, text, folder = _find(source)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, line = _syntax_error(str(error), text)
        raise ValueError(f"{label}, line {line}: not TOML: {message}") from None
    except (ValueError, RecursionError) as error:  # a number too long, tables too deep
        raise ValueError(f"{label}: not TOML that can be read: {error}") from None
    try:
        file = _ManifestFile.model_validate(content, context={"folder": folder})
    except ValidationError as error:
        raise ValueError(f"{label}: {first_error(error, _unknown_key)}") from None
    return Manifest(Path(label).stem if file.title is None else file.title, tuple(file.sweeps()))


def shipped() -> list[str]:
    """Return the names of the manifests that come with the package.

    Examples
    --------
    >>> "synthetic" in shipped()
    True
    """
    names = (item.name for item in _MANIFESTS.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def manifest_source(name: str) -> str:
    """Return the text of a manifest: a file, or one that comes with the package."""
    return _find(name)[1]


def _find(source: str | os.PathLike[str]) -> tuple[str, str, Path]:
    """The name of a manifest, its text, and the folder where its paths start."""
    label = os.fspath(source)
    if label in shipped():
        return label, (_MANIFESTS / f"{label}.toml").read_text("utf-8"), Path()
    path = Path(source)
    if not path.is_file():
        raise ValueError(f"no manifest {label!r}: {suggest(path.stem, shipped())}")
    raw = path.read_bytes()
    try:
        # tomllib counts lines in the same way, however they end
        return label, raw.decode("utf-8").replace("\r\n", "\n"), path.parent
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ValueError(f"{label}, line {line}: not UTF-8 text") from None


def _syntax_error(message: str, text: str) -> tuple[str, int]:
    """What tomllib says is wrong, and the line."""
    match = re.search(r"line (\d+)", message)
    line = int(match.group(1)) if match else max(1, len(text.splitlines()))
    return re.sub(r" \(at .*\)$", "", message), line


def _unknown_key(key: str, at_top: bool) -> str:
    """What to do about a key that a manifest or a sweep does not have."""
    if not at_top:
        return unknown_key(key)
    if key in Sweep.model_fields:
        return "it belongs to a [[sweep]]"
    return suggest(key, _ManifestFile.model_fields)


def _parts(
    fits: list[tuple[int, int]], together: int | None
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Sorted fits in parts: whole folds where they fit, otherwise pieces of one."""
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

"""A sweep: models with a grid of options, on tasks, over folds and seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from pointforms.bench.records import Row
from pointforms.bench.toml_lines import Fault
from pointforms.bench.toml_lines import Path as Where
from pointforms.models import names
from pointforms.models.options import (
    NOT_OPTIONS,
    check_name,
    check_options,
    default,
    option_names,
    option_value,
    shown,
)
from pointforms.support.suggestions import suggest
from pointforms.tasks.catalogue import check_size, content_digest, resolve
from pointforms.tasks.task import FOLDS


@dataclass(frozen=True)
class Sweep:
    """Every model with every combination of the grid, on every task.

    Attributes
    ----------
    tasks, models : names, or files for tasks
    folds, seeds : every row is fitted on every pair of them
    options : of every model
    grid : option -> its values, of which every combination is a row
    clouds, points, task_seed : of the tasks
    together : at most so many fits are trained together; None is the seeds of one fold
    """

    tasks: tuple[str, ...]
    models: tuple[str, ...]
    folds: tuple[int, ...] = tuple(range(FOLDS))
    seeds: tuple[int, ...] = (0,)
    options: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    clouds: int | None = None
    points: int | None = None
    task_seed: int = 0
    together: int | None = None

    def rows(self) -> Iterator[Row]:
        """Rows, by task, then by model. An option that is given its default is not in them."""
        contents = {task: content_digest(task) for task in self.tasks}
        for task, model in product(self.tasks, self.models):
            for options in self.combinations():
                differing = {k: v for k, v in options.items() if v != default(model, k)}
                yield Row(
                    task,
                    model,
                    differing,
                    self.clouds,
                    self.points,
                    self.task_seed,
                    contents[task],
                )

    def combinations(self) -> Iterator[dict[str, Any]]:
        """The options of a model: one dictionary a combination."""
        for values in product(*self.grid.values()):
            yield dict(self.options) | dict(zip(self.grid, values, strict=True))


def read_sweep(content: Any, where: Where, folder: Path, usual: Mapping[str, Any]) -> Sweep:
    """A sweep from a table of a manifest.

    Parameters
    ----------
    content : the table, as tomllib reads it
    where : its path in the file; a `Fault` says what is wrong where
    folder : where paths of files start
    usual : `folds` and `seeds` of the manifest
    """
    if not isinstance(content, dict):
        raise Fault(where, f"sweep = {shown(content)}: expected a table, [[sweep]]")
    reader = _Reader(content, where)
    reader.check_keys()
    tasks = reader.each("tasks", resolve, folder)
    models = reader.each("models", _find_model)
    sizes = {name: reader.count(name) for name in ("clouds", "points")}
    for name, size in sizes.items():
        for task in tasks if size is not None else ():
            reader.attempt((name,), check_size, task, name, size)
    task_seed = reader.count("task_seed", at_least=0)
    options, grid = reader.settings(models)
    sweep = Sweep(
        tuple(tasks),
        tuple(models),
        read_folds(content["folds"], (*where, "folds")) if "folds" in content else usual["folds"],
        read_seeds(content["seeds"], (*where, "seeds")) if "seeds" in content else usual["seeds"],
        options,
        grid,
        **sizes,
        task_seed=task_seed or 0,
        together=reader.count("together"),
    )
    for model, combination in product(models, sweep.combinations()):
        if len(combination) > 1:  # single options have been looked at
            reader.attempt((), check_options, model, combination)
    return sweep


def read_folds(written: Any, where: Where) -> tuple[int, ...]:
    """The first so many folds, or those of a list."""
    if isinstance(written, list):
        return _numbers("folds", written, where, FOLDS - 1)
    check_count("folds", written, where, most=FOLDS)
    return tuple(range(written))


def read_seeds(written: Any, where: Where) -> tuple[int, ...]:
    """0, 1, ..., so many of them, or those of a list."""
    if isinstance(written, list):
        return _numbers("seeds", written, where, 2**31 - 1)
    check_count("seeds", written, where)
    return tuple(range(written))


def check_count(
    name: str, written: Any, where: Where, at_least: int = 1, most: int | None = None
) -> None:
    """Refuse what is not a whole number in a range."""
    whole = isinstance(written, int) and not isinstance(written, bool)
    if not whole or written < at_least or (most is not None and written > most):
        range_ = f"of at least {at_least}" if most is None else f"from {at_least} to {most}"
        raise Fault(where, f"{name} = {shown(written)}: expected a whole number {range_}")


def _numbers(name: str, written: list[Any], where: Where, most: int) -> tuple[int, ...]:
    if not written:
        raise Fault(where, f"{name} = []: expected at least one")
    for i, number in enumerate(written):
        check_count(f"an entry of {name}", number, (*where, i), at_least=0, most=most)
        if number in written[:i]:
            raise Fault((*where, i), f"{name} has {number} twice")
    return tuple(written)


def _find_model(written: str) -> str:
    if written not in names():
        raise ValueError(f"no model {written!r}: {suggest(written, names())}")
    return written


class _Reader:
    """A sweep's table; what is wrong in it becomes a fault at its place."""

    def __init__(self, content: dict[str, Any], where: Where) -> None:
        self.content, self.where = content, where

    def fault(self, path: Where, message: str) -> Fault:
        return Fault((*self.where, *path), message)

    def attempt(self, path: Where, function: Callable[..., Any], *args: Any) -> Any:
        try:
            return function(*args)
        except ValueError as error:
            raise self.fault(path, str(error)) from None

    def check_keys(self) -> None:
        known = list(Sweep.__dataclass_fields__)
        for key in self.content:
            if key in known:
                continue
            hint = suggest(key, known)
            if key in NOT_OPTIONS or any(key in option_names(model) for model in names()):
                hint = "options of models stand under [sweep.options] or [sweep.grid]"
            raise self.fault((key,), f"a sweep has no {key!r}: {hint}")

    def each(self, key: str, find: Callable[..., str], *args: Any) -> list[str]:
        """What was found for every text of a list, once each."""
        written = self.content.get(key, [])
        if key not in self.content:
            raise self.fault((), f"a sweep needs {key}")
        if not isinstance(written, list):
            raise self.fault((key,), f"{key} = {shown(written)}: expected a list")
        if not written:
            raise self.fault((key,), f"{key} = []: expected at least one")
        found = []
        for i, text in enumerate(written):
            if not isinstance(text, str):
                raise self.fault((key, i), f"{shown(text)} in {key}: expected text")
            found.append(self.attempt((key, i), find, text, *args))
        return list(dict.fromkeys(found))

    def count(self, key: str, at_least: int = 1) -> int | None:
        if key not in self.content:
            return None
        check_count(key, self.content[key], (*self.where, key), at_least)
        return int(self.content[key])

    def settings(self, models: list[str]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
        """Fixed options, and lists of them, that all models have."""
        options, grid = self.table("options", models), self.table("grid", models)
        for name, value in options.items():
            options[name] = self.value(("options", name), models, name, value)
        for name, values in grid.items():
            path = ("grid", name)
            if name in options:
                raise self.fault(path, f"{name} is in the sweep's options already")
            if not isinstance(values, list):
                raise self.fault(path, f"{name} = {shown(values)}: expected a list of values")
            if not values:
                raise self.fault(path, f"{name} = []: expected at least one value")
            found = enumerate(values)
            grid[name] = [self.value((*path, i), models, name, value) for i, value in found]
        return options, grid

    def table(self, key: str, models: list[str]) -> dict[str, Any]:
        """A table of options, of which every model has every one."""
        written = self.content.get(key, {})
        if not isinstance(written, dict):
            message = f"{key} = {shown(written)}: expected a table, [sweep.{key}]"
            raise self.fault((key,), message)
        for name in written:
            having = [model for model in models if name in option_names(model)]
            lacking = [model for model in models if model not in having]
            if having and lacking:
                message = f"{lacking[0]} has no option {name!r}, {having[0]} has"
                raise self.fault((key, name), f"{message}: write a sweep for each")
            for model in lacking:
                self.attempt((key, name), check_name, model, name)
        return dict(written)

    def value(self, path: Where, models: list[str], name: str, value: Any) -> Any:
        found = [self.attempt(path, option_value, model, name, value) for model in models]
        return found[0]

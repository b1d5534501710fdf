"""A sweep: models with a grid of options, on tasks, over folds and seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from pointforms.bench.records import Row
from pointforms.bench.validation import NestedError, first_error
from pointforms.io import ReadOptions
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
from pointforms.tasks.catalogue import check_size, content_digest, full_size, resolve
from pointforms.tasks.task import FOLDS

# One sweep may have this many rows and fits: all of them are checked and counted before any runs.
_MOST_ROWS, _MOST_FITS = 10_000, 1_000_000


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _without_repeats(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _resolve_task(name: str, info: ValidationInfo) -> str:
    return resolve(name, (info.context or {}).get("folder", Path()))


def _check_model(name: str) -> str:
    if name not in names():
        raise ValueError(f"no model {name!r}: {suggest(name, names())}")
    return name


def _first_numbers(most: int) -> BeforeValidator:
    """A validator by which a count stands for the numbers 0, 1, … below it."""

    def expand(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return tuple(value)
        if type(value) is not int or not 1 <= value <= most:
            raise ValueError(
                f"expected a whole number from 1 to {most}, or a list of numbers, "
                f"got {shown(value)}"
            )
        return tuple(range(value))

    return BeforeValidator(expand)


def _check_repeats(values: tuple[int, ...]) -> tuple[int, ...]:
    seen = set()
    for i, value in enumerate(values):
        if value in seen:
            raise NestedError((i,), f"{value} occurs twice")
        seen.add(value)
    return values


_Tasks = Annotated[
    tuple[Annotated[str, AfterValidator(_resolve_task)], ...],
    Field(min_length=1),
    BeforeValidator(_as_tuple),
    AfterValidator(_without_repeats),
]
_Models = Annotated[
    tuple[Annotated[str, AfterValidator(_check_model)], ...],
    Field(min_length=1),
    BeforeValidator(_as_tuple),
    AfterValidator(_without_repeats),
]
_Values = Annotated[tuple[Any, ...], Field(min_length=1), BeforeValidator(_as_tuple)]
_Count = Annotated[int, Field(ge=1)]
Folds = Annotated[
    tuple[Annotated[int, Field(ge=0, le=FOLDS - 1)], ...],
    Field(min_length=1),
    _first_numbers(FOLDS),
    AfterValidator(_check_repeats),
]
Seeds = Annotated[
    tuple[Annotated[int, Field(ge=0, le=2**31 - 1)], ...],
    Field(min_length=1),
    _first_numbers(_MOST_FITS),
    AfterValidator(_check_repeats),
]


TaskSeeds = Annotated[
    tuple[Annotated[int, Field(ge=0)], ...],
    Field(min_length=1),
    _first_numbers(_MOST_ROWS),
    AfterValidator(_check_repeats),
]


class Sweep(BaseModel):
    """Every model with every combination of the grid, on every task.

    A sweep has at most 10 000 rows and a million fits. Longer lists are refused without being
    expanded.

    Attributes
    ----------
    tasks : tuple of str
        Names of tasks, or files.
    models : tuple of str
        Names in the registry of models.
    folds : int or sequence of int, default (0, 1, 2, 3, 4)
        The folds on which every row is fitted: how many, or which.
    seeds : int or sequence of int, default (0,)
        The seeds with which every row is fitted on every fold: how many, or which.
    options : dict, default {}
        Options of every model.
    grid : dict, default {}
        Lists of values by option. Every combination of them is a row.
    clouds : int, optional
        Number of clouds; by default that of the tasks.
    points : int, optional
        Number of points per cloud; by default that of the tasks.
    task_seed : int, default 0
        The seed of the clouds and folds of the tasks.
    together : int, optional
        Number of fits that are trained together at most; by default the seeds of one fold.
    reading : dict, default {}
        How files among the tasks are read: the options of :class:`pointforms.io.ReadOptions`.

    Examples
    --------
    >>> sweep = Sweep(tasks=["colocated"], models=["mlp"], grid={"epochs": [10, 20]})
    >>> [dict(row.options) for row in sweep.rows()]
    [{'epochs': 10}, {'epochs': 20}]
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    tasks: _Tasks
    models: _Models
    folds: Folds = tuple(range(FOLDS))
    seeds: Seeds = (0,)
    options: dict[str, Any] = Field(default_factory=dict)
    grid: dict[str, _Values] = Field(default_factory=dict)
    clouds: _Count | None = None
    points: _Count | None = None
    task_seed: Annotated[int, Field(ge=0)] = 0
    together: _Count | None = None
    reading: dict[str, Any] = Field(default_factory=dict)

    @field_validator("reading")
    @classmethod
    def _check_reading(cls, reading: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if not reading:
            return {}
        tasks = info.data.get("tasks", ())
        if tasks and not any(map(_is_file, tasks)):
            raise ValueError(f"{', '.join(tasks)}: no file, and columns are chosen in files only")
        if "samples" in reading:
            folder = (info.context or {}).get("folder", Path())
            reading = reading | {"samples": (folder / reading["samples"]).resolve().as_posix()}
        try:
            return ReadOptions.of(reading).differing()
        except TypeError as error:
            raise ValueError(str(error)) from None

    @field_validator("clouds", "points")
    @classmethod
    def _check_sizes(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is not None:
            for task in info.data.get("tasks", ()):
                check_size(task, str(info.field_name), value)
        return value

    @field_validator("options")
    @classmethod
    def _check_fixed_options(cls, options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        models = info.data.get("models", ())
        _check_names(models, options)
        return {k: _canonical(models, k, value, (k,)) for k, value in options.items()}

    @field_validator("grid")
    @classmethod
    def _check_grid(
        cls, grid: dict[str, tuple[Any, ...]], info: ValidationInfo
    ) -> dict[str, tuple[Any, ...]]:
        models = info.data.get("models", ())
        _check_names(models, grid)
        for name in grid:
            if name in info.data.get("options", ()):
                raise NestedError((name,), "already set in the options of this sweep")
        return {
            name: tuple(_canonical(models, name, v, (name, i)) for i, v in enumerate(values))
            for name, values in grid.items()
        }

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        self.check_count()
        for model, combination in product(self.models, self.combinations()):
            if len(combination) > 1:  # single options have been checked
                check_options(model, combination)
        return self

    def check_count(self) -> None:
        """Raise an error if there are too many rows or fits to plan, without making them."""
        lists = [len(values) for values in self.grid.values()]
        rows = len(self.tasks) * len(self.models) * prod(lists)
        if rows > _MOST_ROWS:
            raise NestedError(("grid",), f"{rows} rows: expected at most {_MOST_ROWS} in one sweep")
        fits = rows * len(self.folds) * len(self.seeds)
        if fits > _MOST_FITS:
            raise NestedError(
                ("seeds",),
                f"{len(self.seeds)} seeds make {fits} fits of {rows} rows: expected at most "
                f"{_MOST_FITS} in one sweep",
            )

    def rows(self, contents: Mapping[str, str | None] | None = None) -> Iterator[Row]:
        """Yield the rows, by task and then by model.

        Parameters
        ----------
        contents : mapping, optional
            Digests of the content of tasks, where they are known already.
        """
        if contents is None:
            contents = {task: content_digest(task) for task in self.tasks}
        samples = self.reading.get("samples")
        if samples is not None:  # part of the content
            contents = {task: content_digest(task, samples) for task in self.tasks}
        sizes = (self.clouds, self.points, self.task_seed)
        for task, model in product(self.tasks, self.models):
            for options in self.combinations():
                # a row does not repeat defaults: it is the same however it was written
                differing = {k: v for k, v in options.items() if v != default(model, k)}
                how = self.reading if _is_file(task) else {}
                yield Row(task, model, differing, *sizes, contents[task], reading=how)

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Yield the options of a model, one dictionary per combination of the grid."""
        for values in product(*self.grid.values()):
            yield self.options | dict(zip(self.grid, values, strict=True))


def _is_file(task: str) -> bool:
    return full_size(task) is None


def read_sweep(content: Mapping[str, Any], folder: Path = Path()) -> Sweep:
    """Return the sweep that a mapping describes, as a table of a manifest does.

    Parameters
    ----------
    content : mapping
        The parameters of :class:`Sweep`.
    folder : Path, default the current folder
        Where the paths of files start.

    Raises
    ------
    ValueError
        If anything is wrong; the message starts with the path of the key.
    TypeError
        If `content` is not a mapping.
    """
    if not isinstance(content, Mapping):
        raise TypeError(f"the sweep is {content!r}: expected a mapping with tasks and models")
    try:
        return Sweep.model_validate(dict(content), context={"folder": folder})
    except ValidationError as error:
        raise ValueError(first_error(error, lambda key, top: unknown_key(key))) from None


def unknown_key(key: str) -> str:
    """Return what to do about a key that a sweep does not have."""
    if key in NOT_OPTIONS or any(key in option_names(model) for model in names()):
        return "options of models belong under [sweep.options] or [sweep.grid]"
    return suggest(key, Sweep.model_fields)


def _check_names(models: tuple[str, ...], options: Mapping[str, Any]) -> None:
    """Raise an error unless every model has every option."""
    for name in options:
        having = [model for model in models if name in option_names(model)]
        lacking = [model for model in models if model not in having]
        if having and lacking:
            message = f"{lacking[0]} has no option {name!r}, {having[0]} has it"
            advice = "list them separately, in a command or [[sweep]] of their own"
            raise NestedError((name,), f"{message}: {advice}")
        for model in lacking:
            _nested((name,), check_name, model, name)


def _canonical(models: tuple[str, ...], name: str, value: Any, path: tuple[str | int, ...]) -> Any:
    """The value of an option in the form in which equal values are equal text."""
    for model in models:
        canonical = _nested(path, option_value, model, name, value)
    return canonical if models else value


def _nested(path: tuple[str | int, ...], function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except ValueError as error:
        raise NestedError(path, str(error)) from None

"""Gram fields of one neighbour count and one dimension, which the training clouds choose."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from torch import Tensor

from pointforms.clouds import as_clouds, cloud_list, plain_clouds
from pointforms.estimators.units import Units
from pointforms.geometry.choice import Choice, Votes
from pointforms.geometry.field import GramField
from pointforms.geometry.gram import gram_fields
from pointforms.geometry.settings import GramSettings
from pointforms.geometry.stream import FieldStream, Group, field_stream
from pointforms.weights import plain


def prepare_fields(
    clouds: Any,
    settings: GramSettings,
    n_jobs: int | None = None,
    progress: bool = False,
    cache: str | os.PathLike[str] | None = None,
    units: Units | None = None,
) -> list[GramField]:
    """Compute Gram fields, and give those with chosen numbers the numbers of the settings.

    With units, neighbours are searched in scaled coordinates z = (x - m) / s. The fields are then
    expressed in x: a tangent vector v in z is s v in x, and G transforms as v vᵀ does.

    Parameters
    ----------
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds, or their Gram fields.
    settings : GramSettings
        Options of the fields. Where they leave the neighbour count or the dimension open, clouds
        choose it together, and fields keep theirs.
    n_jobs : int or None, default None
        Number of threads; -1 uses one per core, None the calling thread.
    progress : bool, default False
        Show a progress bar.
    cache : path-like or None, default None
        A folder that keeps the fields, keyed by the scaled content of the clouds.
    units : Units or None, default None
        The units in which neighbours of clouds are searched. Gram fields are in units of their own.
    """
    return stream_fields(clouds, settings, n_jobs, progress, cache, units).fields()


def stream_fields(
    clouds: Any,
    settings: GramSettings,
    n_jobs: int | None = None,
    progress: bool = False,
    cache: str | os.PathLike[str] | None = None,
    units: Units | None = None,
    copy: bool = True,
) -> FieldStream:
    """Compute Gram fields as :func:`prepare_fields` does, in groups and while they are read.

    With copy=False the fields have the points of the tensors that are given, not copies of them.
    """
    clouds = cloud_list(clouds)
    if clouds and isinstance(clouds[0], GramField):
        _check_fields(clouds)
        given: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "cache": cache}
        return FieldStream.of(_with_numbers_of(settings, clouds, given))
    if units is None or units.axes is not None or not units.in_geometry:
        return field_stream(clouds, settings, n_jobs, progress, cache, copy=copy)
    points = as_clouds(clouds, distinct=False, copy=copy)
    own = units.scaled(points)
    scaled = field_stream(own, settings, n_jobs, progress, cache, copy=False)
    return FieldStream(
        points,
        scaled.width,
        scaled.pairs,
        lambda: _in_units_of_points(scaled.groups(), points, units),
        given=False,
    )


def _in_units_of_points(
    groups: Iterable[Group], points: Sequence[Tensor], units: Units
) -> Iterator[Group]:
    """Express fields that were estimated in scaled coordinates in those of the points."""
    unit = units.unit[:, None]

    def converted(i: int, field: GramField) -> GramField:
        factor = field.factor * unit.to(field.factor)
        return replace(field, points=plain(points[i]), factor=factor, unit=units.unit)

    for rows, fields in groups:
        yield rows, map(converted, rows, fields)
        del fields  # before the next ones are computed


class CommonGeometry:
    """The numbers that Gram fields should share, by the votes of any part of the clouds.

    Parameters
    ----------
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds, or their Gram fields. Numbers that the fields were computed with must agree
        with each other, and with the settings.
    settings : GramSettings
        Options of the fields.
    """

    def __init__(self, clouds: Any, settings: GramSettings) -> None:
        if isinstance(clouds[0], GramField):
            _check_fields(clouds)
            k = _given("neighbors", settings.neighbors, [f.settings.neighbors for f in clouds])
            d = _given("dimension", settings.dimension, [f.settings.dimension for f in clouds])
            settings = replace(settings, neighbors=k, dimension=d)
            points = plain_clouds(clouds)
        else:
            points = as_clouds(clouds, copy=False)  # they are read now, and not kept
        settings.check_width(points[0].shape[1])
        self._votes = Votes(points, settings)

    def choose(self, training: Sequence[int] | None = None) -> Choice:
        """Return the numbers that some of the clouds choose (default: all)."""
        return self._votes.choose(training)


def _check_fields(fields: Sequence[Any]) -> None:
    for i, field in enumerate(fields):
        if not isinstance(field, GramField):
            raise TypeError(f"item {i} is a {type(field).__name__}: expected a GramField")


def _given(name: str, option: Any, of_fields: list[Any]) -> Any:
    """Return an option, or the number that all fields were computed with."""
    numbers = sorted({value for value in of_fields if isinstance(value, int)})
    if isinstance(option, int):
        numbers = sorted({*numbers, option})
    if len(numbers) > 1:
        raise ValueError(
            f"{name} is {numbers[0]} and {numbers[1]}: expected one number in the options of the "
            "estimator and in all Gram fields"
        )
    return numbers[0] if numbers else option


def _with_numbers_of(
    settings: GramSettings, fields: Sequence[GramField], given: dict[str, Any]
) -> list[GramField]:
    """Compute fields again whose numbers were chosen, and differ from those of the settings."""
    result = list(fields)
    again: dict[GramSettings, list[int]] = {}
    for i, field in enumerate(fields):
        own = field.settings
        if own.neighbors == "auto":
            own = replace(own, neighbors=settings.neighbors)
        if not isinstance(own.dimension, int) and isinstance(settings.dimension, int):
            own = replace(own, dimension=settings.dimension)
        result[i] = replace(field, settings=own)
        same_count = own.neighbors in ("auto", field.settings.neighbors) or (
            own.list_length(len(field)) == field.neighbors
        )
        if not same_count or (isinstance(own.dimension, int) and own.dimension != field.dimension):
            again.setdefault(own, []).append(i)
    for own, rows in again.items():
        again_clouds = plain_clouds([fields[i] for i in rows])
        computed = gram_fields(again_clouds, **asdict(own), **given)
        for i, field in zip(rows, computed, strict=True):
            result[i] = field
    return result

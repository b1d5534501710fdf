"""Gram fields of many clouds that are computed in groups, so that not all have to be in memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from pointforms.cloud import CloudLike
from pointforms.clouds import Clouds, as_clouds, plain_clouds
from pointforms.geometry.assemble import fields_of_geometry
from pointforms.geometry.batches import batches, field_multiplications
from pointforms.geometry.cache import FieldCache
from pointforms.geometry.choice import Choice, Votes
from pointforms.geometry.estimate import estimate_geometry
from pointforms.geometry.field import GramField
from pointforms.geometry.large import large_field, suits_large_field
from pointforms.geometry.settings import GramSettings
from pointforms.support.progress import track
from pointforms.support.threads import threads_for
from pointforms.weights import keep_weights, relative_weights, weights_of

#: Positions of some clouds, and their Gram fields.
Group = tuple[Sequence[int], Iterable[GramField]]


@dataclass(frozen=True, eq=False)
class FieldStream:
    """Gram fields of many clouds, which are computed while they are read.

    Attributes
    ----------
    points : sequence of Tensor, each of shape (n_i, D)
        The clouds, with the weights of their points.
    width : int
        Number of columns of the widest factor, as far as it is known beforehand: ties at the end
        of neighbourhoods can make factors wider.
    pairs : bool
        Whether all fields have pairs.
    groups : callable
        Returns an iterable of (sequence of int, iterable of GramField): positions of some clouds
        with their fields, in any order; every cloud is in one group. One group is in memory at a
        time if its fields are let go of before the next one is read.
    given : bool, default True
        Whether the fields come from a caller, who may have replaced some of their tensors.
    """

    points: Sequence[Tensor]
    width: int
    pairs: bool
    groups: Callable[[], Iterable[Group]]
    given: bool = True

    def __len__(self) -> int:
        return len(self.points)

    @classmethod
    def of(cls, fields: Sequence[GramField]) -> FieldStream:
        """Return a stream of fields that were computed before."""
        if not len(fields):
            raise ValueError("no Gram fields: expected at least one")
        for i, field in enumerate(fields):
            if not isinstance(field, GramField):
                raise TypeError(
                    f"fields[{i}] is of type {type(field).__name__}: expected a GramField, as "
                    "pf.gram_fields returns them"
                )
        points = [keep_weights(field.points, field) for field in fields]
        width = max(field.factor.shape[-1] for field in fields)
        pairs = all(field.pairs is not None for field in fields)
        return cls(points, width, pairs, lambda: [(range(len(fields)), fields)])

    def fields(self) -> list[GramField]:
        """Compute all fields, and return them in the order of the clouds."""
        result: dict[int, GramField] = {}
        for rows, fields in self.groups():
            result.update(zip(rows, fields, strict=True))
        return [result[i] for i in range(len(self))]


def points_of(prepared: Any) -> Sequence[Tensor]:
    """Return the points of a stream, or of clouds or what was computed from them.

    Examples
    --------
    >>> stream = field_stream([[[0.0, 1.0], [2.0, 3.0]]], GramSettings())
    >>> points_of(stream)[0].tolist() == points_of(stream.fields())[0].tolist()
    True
    """
    return prepared.points if isinstance(prepared, FieldStream) else plain_clouds(prepared)


def field_stream(
    clouds: Iterable[CloudLike] | Clouds,
    settings: GramSettings,
    n_jobs: int | None = None,
    progress: bool = False,
    cache: str | os.PathLike[str] | None = None,
    copy: bool = True,
) -> FieldStream:
    """Check clouds and choose what the settings leave open, as :func:`gram_fields` does.

    Parameters
    ----------
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds.
    settings : GramSettings
        Options of the fields.
    n_jobs : int or None, default None
        Number of threads that share the batches; -1 uses one per core, None the calling thread.
    progress : bool, default False
        Show a progress bar on standard error.
    cache : path-like or None, default None
        A folder that keeps the fields, keyed by the content of the cloud and the options.
    copy : bool, default True
        False reads the tensors that are given instead of copies of them.

    Returns
    -------
    FieldStream
        The fields are computed when they are read.
    """
    workers = _check_jobs(n_jobs)
    checked = as_clouds(clouds, copy=copy)
    features = checked[0].shape[1]
    settings.check_width(features)
    store = None if cache is None else FieldCache(Path(cache))
    choice = Votes(checked, settings).choose(progress=progress)
    choice.warn_if_doubtful()
    resolved = choice.applied_to(settings)
    width = resolved.factor_width(max(map(len, checked)), features)
    pairs = all(resolved.has_pairs(n, features) for n in set(map(len, checked)))
    groups = partial(_groups, checked, settings, choice, store, workers, progress)
    return FieldStream(checked, width, pairs, groups, given=False)


def _groups(
    clouds: Sequence[Tensor],
    settings: GramSettings,
    choice: Choice,
    cache: FieldCache | None,
    workers: int,
    progress: bool,
) -> Iterator[Group]:
    """Yield the fields that the cache has one by one, and then the others in batches."""
    resolved = choice.applied_to(settings)

    def told(field: GramField) -> GramField:
        return replace(field, settings=settings, agreement=choice.agreement)

    missing: Sequence[int] = range(len(clouds))
    if cache is not None:
        missing = []
        with track(len(clouds), "Reading the cache", progress) as advance:
            for i, cloud in enumerate(clouds):
                cached = cache.load(cloud, resolved)
                advance(1)
                if cached is None:
                    missing.append(i)
                else:
                    yield [i], [told(cached)]

    def compute(rows: list[int]) -> Group:
        work = len(rows) * field_multiplications(clouds[rows[0]], choice.neighbors)
        with threads_for(work):
            computed = _fields_of_batch([clouds[i] for i in rows], resolved)
        if cache is not None:
            for i, field in zip(rows, computed, strict=True):
                cache.save(clouds[i], resolved, field)
        return rows, [told(field) for field in computed]

    with track(len(missing), "Gram fields", progress) as advance:
        for group in _run(compute, batches(clouds, missing, choice.neighbors), workers):
            count = len(group[0])
            yield group
            del group  # before the next one is computed
            advance(count)


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def _run(
    compute: Callable[[_Item], _Result], items: list[_Item], workers: int
) -> Iterator[_Result]:
    """Yield results in order; threads are at most one result per thread ahead of the reader."""
    if workers == 1 or len(items) < 2:
        yield from map(compute, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        ahead: deque[Future[_Result]] = deque()
        for item in items:
            ahead.append(pool.submit(compute, item))
            if len(ahead) > workers:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _check_jobs(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0 or n_jobs < -1:
        raise ValueError(f"n_jobs={n_jobs!r}: expected None, -1 or a positive whole number")
    return (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs)


def _fields_of_batch(clouds: list[Tensor], settings: GramSettings) -> list[GramField]:
    """Compute the Gram fields of a batch of clouds of one size, all with weights or without."""
    if len(clouds) == 1 and suits_large_field(clouds[0], settings):
        return [replace(large_field(clouds[0], settings), weights=weights_of(clouds[0]))]
    points = torch.stack(clouds)
    masses = [own for own in map(relative_weights, clouds) if own is not None]
    geometry = estimate_geometry(points, settings, mass=torch.stack(masses) if masses else None)
    return [
        replace(field, weights=weights_of(cloud))
        for field, cloud in zip(fields_of_geometry(points, geometry, settings), clouds, strict=True)
    ]

"""Gram fields of one neighbour count and one dimension, which the training clouds choose."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from pointforms.clouds import as_clouds, cloud_list
from pointforms.geometry.choice import Choice, Votes
from pointforms.geometry.field import GramField
from pointforms.geometry.gram import gram_fields
from pointforms.geometry.settings import GramSettings


def prepare_fields(
    clouds: Any,
    settings: GramSettings,
    n_jobs: int | None = None,
    progress: bool = False,
    cache: str | os.PathLike[str] | None = None,
) -> list[GramField]:
    """Compute Gram fields, and give those with chosen numbers the numbers of the settings.

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
        A folder that keeps the fields.
    """
    clouds = cloud_list(clouds)
    given: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "cache": cache}
    if not (clouds and isinstance(clouds[0], GramField)):
        return gram_fields(clouds, **asdict(settings), **given)
    for i, field in enumerate(clouds):
        if not isinstance(field, GramField):
            raise TypeError(f"item {i} is a {type(field).__name__}: expected a GramField")
    return _with_numbers_of(settings, clouds, given)


class CommonGeometry:
    """The numbers that Gram fields should share, by the votes of any part of the clouds.

    Parameters
    ----------
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds, or their Gram fields.
    settings : GramSettings
        Options of the fields. What they leave open is the median of the fields' own options if
        all fields were computed with a given neighbour count or dimension.
    """

    def __init__(self, clouds: Any, settings: GramSettings) -> None:
        if isinstance(clouds[0], GramField):
            settings = _settings_of(clouds, settings)
            points = [field.points for field in clouds]
        else:
            points = as_clouds(clouds)
        settings.check_width(points[0].shape[1])
        self._votes = Votes(points, settings)

    def choose(self, training: Sequence[int] | None = None) -> Choice:
        """Return the numbers that some of the clouds choose (default: all)."""
        return self._votes.choose(training)


def _settings_of(fields: Sequence[GramField], settings: GramSettings) -> GramSettings:
    """Return settings that leave open what is open there, and for any of the fields."""
    for i, field in enumerate(fields):
        if not isinstance(field, GramField):
            raise TypeError(f"item {i} is a {type(field).__name__}: expected a GramField")
    own = [field.settings for field in fields]
    k, d = settings.neighbors, settings.dimension
    if k == "auto":
        counts = [one.neighbors for one in own if one.neighbors != "auto"]
        k = "auto" if len(counts) < len(own) else int(np.median(counts))
    if not isinstance(d, int):
        dimensions = [one.dimension for one in own if isinstance(one.dimension, int)]
        d = d if len(dimensions) < len(own) else int(np.median(dimensions))
    return replace(own[0], neighbors=k, dimension=d)


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
        computed = gram_fields([fields[i].points for i in rows], **asdict(own), **given)
        for i, field in zip(rows, computed, strict=True):
            result[i] = field
    return result

"""Gram fields of one dimension: estimated for each cloud once, chosen on the training clouds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from pointforms.clouds import cloud_list
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
    """Compute Gram fields, and give those whose dimension was estimated that of the settings.

    Parameters
    ----------
    clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
        The clouds, or their Gram fields.
    settings : GramSettings
        Options of the fields. If they have no dimension, each field keeps the estimate for its
        cloud.
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
    if settings.dimension is None:
        return list(clouds)
    return _with_dimension(clouds, settings.dimension, given)


def common_dimension(fields: Sequence[GramField]) -> int:
    """Return the dimension that fields should share: the median of their dimensions."""
    return int(np.median([field.dimension for field in fields]))


def _with_dimension(
    fields: Sequence[GramField], dimension: int, given: dict[str, Any]
) -> list[GramField]:
    """Compute fields again whose dimension was estimated, and as another one."""
    result = [
        replace(field, settings=replace(field.settings, dimension=dimension))
        if field.settings.dimension is None
        else field
        for field in fields
    ]
    again: dict[GramSettings, list[int]] = {}
    for i, field in enumerate(fields):
        if field.settings.dimension is None and field.dimension != dimension:
            again.setdefault(result[i].settings, []).append(i)
    for settings, rows in again.items():
        computed = gram_fields([fields[i].points for i in rows], **asdict(settings), **given)
        for i, field in zip(rows, computed, strict=True):
            result[i] = field
    return result

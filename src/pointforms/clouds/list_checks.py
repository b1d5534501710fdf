"""Checks of a list of clouds: each is a cloud, and all have the same features and device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor

from pointforms.cloud import CloudLike, as_cloud, column_names_of
from pointforms.support.options import shown
from pointforms.tensors import describe


def listed(clouds: Any) -> list[Any]:
    """Return clouds as a list that is not empty, or raise an error."""
    scalar = isinstance(clouds, str | bytes) or getattr(clouds, "ndim", None) == 0
    if scalar or not isinstance(clouds, Iterable):
        raise TypeError(f"clouds is {describe(clouds)}: expected a list of (n, D) arrays")
    if isinstance(clouds, dict):
        raise TypeError("clouds is a dict: pass list(clouds.values())")
    shape = tuple(getattr(clouds, "shape", ()))
    if len(shape) == 2:
        raise ValueError(f"clouds has shape {shape}, like one cloud: pass it as [cloud]")
    items = list(clouds)
    if not items:
        raise ValueError("clouds is empty: expected at least one (n, D) array")
    return items


def checked_clouds(
    clouds: Sequence[CloudLike],
    *,
    distinct: bool,
    ids: Sequence[str] | None,
    feature_names: Sequence[str] | None,
    copy: bool = True,
) -> list[Tensor]:
    """Check every cloud as :func:`as_cloud` does, and that all have the same features and device.

    Data frames get their columns in the order of the first.

    Parameters
    ----------
    clouds : sequence of array-like or tensor, each of shape (n_i, D)
        The clouds.
    distinct : bool
        Refuse clouds without two different points, which have no geometry.
    ids : sequence of str or None
        Names of the clouds for error messages.
    feature_names : sequence of str or None
        Names of the columns for error messages.
    copy : bool, default True
        False returns tensors of floating-point numbers as they are.

    Returns
    -------
    list of Tensor, each of shape (n_i, D)
    """
    checked = [
        as_cloud(c, cloud_name(i, ids), distinct=distinct, feature_names=feature_names, copy=copy)
        for i, c in enumerate(_in_common_order(clouds))
    ]
    first = checked[0]
    for i, cloud in enumerate(checked):
        name, first_name = cloud_name(i, ids), cloud_name(0, ids)
        if cloud.shape[1] != first.shape[1]:
            raise ValueError(
                f"{name} has {cloud.shape[1]} features, {first_name} has {first.shape[1]}"
            )
        if cloud.device != first.device:
            raise ValueError(f"{name} is on {cloud.device}, {first_name} on {first.device}")
    return checked


def cloud_name(i: int, ids: Sequence[str] | None) -> str:
    """Return what error messages call cloud i.

    Examples
    --------
    >>> cloud_name(1, ["a", "b"]), cloud_name(1, None)
    ("cloud 1 ('b')", 'cloud 1')
    """
    if ids is None or i >= len(ids) or ids[i] == str(i):
        return f"cloud {i}"
    return f"cloud {i} ({ids[i]!r})"


def _in_common_order(clouds: Sequence[Any]) -> Sequence[Any]:
    """Return data frames with their columns in the order of the first; others as they are."""
    names = column_names_of(clouds[0])
    if names is None:
        return clouds
    ordered = []
    for i, cloud in enumerate(clouds):
        own = column_names_of(cloud)
        if own is not None and own != names:
            if len(own) == len(set(own)) == len(names) and set(own) == set(names):
                cloud = cloud[names]
            elif len(own) == len(names):
                only = sorted(set(own) ^ set(names))
                raise ValueError(
                    f"cloud {i} has the columns {shown(own)}, cloud 0 has {shown(names)}"
                    + (f"; only one of them has {shown(only)}" if only else "")
                )
        ordered.append(cloud)
    return ordered

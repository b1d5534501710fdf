"""Clouds as callers pass them: a :class:`Clouds`, a list of tables, or Gram fields of clouds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor

from pointforms.cloud import CloudLike, as_cloud, column_names_of
from pointforms.clouds.clouds import Clouds
from pointforms.clouds.list_checks import checked_clouds, cloud_name, listed
from pointforms.weights import keep_weights


def as_clouds(
    clouds: Iterable[CloudLike] | Clouds, *, distinct: bool = True, copy: bool = True
) -> list[Tensor]:
    """Check every cloud as :func:`as_cloud` does, and that all have the same features and device.

    Parameters
    ----------
    clouds : Clouds, or iterable of array-like or tensor, each of shape (n_i, D)
        The clouds.
    distinct : bool, default True
        Refuse clouds without two different points, which have no geometry.
    copy : bool, default True
        False returns tensors of floating-point numbers as they are.

    Returns
    -------
    list of Tensor, each of shape (n_i, D)

    Examples
    --------
    >>> [len(cloud) for cloud in as_clouds([[[0, 1], [2, 3]], [[4, 5], [6, 7], [8, 9]]])]
    [2, 3]
    """
    ids, features = (
        (clouds.ids, clouds.feature_names) if isinstance(clouds, Clouds) else (None, None)
    )
    return checked_clouds(
        listed(clouds), distinct=distinct, ids=ids, feature_names=features, copy=copy
    )


def check_each(clouds: Clouds) -> None:
    """Check clouds as :func:`as_clouds` does, one after another, so that no copy of all is made.

    Parameters
    ----------
    clouds : Clouds
        The clouds. They may have a single point, or equal points.

    Examples
    --------
    >>> import torch
    >>> check_each(Clouds(torch.tensor([[0.0], [torch.inf]]), torch.tensor([0, 2]), ("a",), ("x",)))
    Traceback (most recent call last):
    ValueError: cloud 0 ('a') has 1 non-finite values, the first (inf) at point 1, feature 'x'
    """
    for i, cloud in enumerate(clouds):
        as_cloud(
            cloud, cloud_name(i, clouds.ids), distinct=False, feature_names=clouds.feature_names
        )


def cloud_list(clouds: Any) -> Sequence[Any]:
    """Return clouds, or what was computed from them, as a sequence that is not empty.

    Data frames with named columns become :class:`Clouds`, which keep the names. Otherwise the
    clouds themselves are not looked at.

    Parameters
    ----------
    clouds : Clouds or iterable
        Clouds, which are returned as they are, or anything else that has one item per cloud.

    Returns
    -------
    Clouds or list

    Examples
    --------
    >>> import numpy as np
    >>> cloud_list(np.zeros((5, 2)))
    Traceback (most recent call last):
    ValueError: clouds has shape (5, 2), like one cloud: pass it as [cloud]
    """
    if isinstance(clouds, Clouds) and len(clouds):
        return clouds
    items = listed(clouds)
    return items if column_names_of(items[0]) is None else Clouds.from_list(items)


def plain_clouds(clouds: Any) -> list[Tensor]:
    """Return the points of clouds, or of what was computed from them, such as Gram fields.

    Parameters
    ----------
    clouds : Clouds, iterable of clouds, or sequence of objects with an attribute `points`
        Clouds are checked; the points of other objects were checked before. Tensors carry the
        weights of their points, if there are any.

    Returns
    -------
    list of Tensor, each of shape (n_i, D)

    Examples
    --------
    >>> import pointforms as pf
    >>> fields = pf.gram_fields([[[0.0, 1.0], [2.0, 3.0]]])
    >>> plain_clouds(fields)[0] is fields[0].points
    True
    """
    first = clouds[0] if isinstance(clouds, Sequence) and clouds else None
    if isinstance(getattr(first, "points", None), Tensor):
        return [keep_weights(item.points, item) for item in clouds]
    return as_clouds(clouds, distinct=False)

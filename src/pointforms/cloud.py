"""One point cloud: the one place that checks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pointforms.support.threads import one_thread
from pointforms.tensors import as_tensor
from pointforms.weights import keep_weights

CloudLike = Any  # (n, D): anything NumPy or torch can read as a table of numbers


def as_cloud(
    points: CloudLike,
    name: str = "cloud",
    *,
    distinct: bool = True,
    feature_names: Sequence[str] | None = None,
    copy: bool = True,
) -> Tensor:
    """Check one cloud and return it as a finite floating-point tensor (n, D).

    float32 stays float32, everything else becomes float64. The tensor is a copy, without gradients,
    unless `copy` is False. It carries the weights of its points, if those that are given do.

    Parameters
    ----------
    points : array-like, tensor or data frame, shape (n, D)
        The cloud.
    name : str, default "cloud"
        What error messages call this cloud.
    distinct : bool, default True
        Refuse clouds without two different points, which have no geometry.
    feature_names : sequence of str or None, default None
        Names of the columns for error messages.
    copy : bool, default True
        False returns a tensor of floating-point numbers as it is.

    Returns
    -------
    Tensor, shape (n, D)

    Examples
    --------
    >>> as_cloud([[0, 1], [2, 3]]).dtype
    torch.float64
    >>> as_cloud([0.0, 1.0], "cloud 17")
    Traceback (most recent call last):
    ValueError: cloud 17 has shape (2,): expected (n, D)
    """
    tensor = as_tensor(points, name, keep_gradient=not copy).detach()
    if tensor.ndim != 2:
        hint = "; several clouds go to gram_fields" if tensor.ndim == 3 else ""
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}: expected (n, D){hint}")
    n, D = tensor.shape
    if n == 0 or D == 0:
        missing = "points" if n == 0 else "features"
        raise ValueError(f"{name} has shape ({n}, {D}): it has no {missing}")
    with one_thread():  # torch shares even the extremes of a hundred points among threads
        _check_range(tensor, name, feature_names)
        if distinct:
            _refuse_equal_points(tensor, name)
    return keep_weights(tensor, points)


def features_of(cloud: Any) -> int | None:
    """Return the number of features of a cloud, or of what was computed from it.

    None stands for what is not a table. Whoever converts it says what is wrong.

    Examples
    --------
    >>> features_of([[0.0, 1.0], [2.0, 3.0]]), features_of([[0.0, 1.0], [2.0]])
    (2, None)
    """
    points = getattr(cloud, "points", None)
    try:
        shape = np.shape(points if isinstance(points, Tensor) else cloud)
    except (ValueError, TypeError, RuntimeError):
        return None
    return shape[1] if len(shape) == 2 else None


def column_names_of(cloud: Any) -> list[str] | None:
    """Return the names of the columns of a data frame, if they are all text; None otherwise."""
    columns = getattr(cloud, "columns", None)
    if columns is None or not hasattr(cloud, "to_numpy"):
        return None
    names = list(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def _check_range(tensor: Tensor, name: str, feature_names: Sequence[str] | None) -> None:
    low, high = torch.aminmax(tensor)  # NaN if there is one
    largest = max(float(high), -float(low))
    if not largest <= torch.finfo(tensor.dtype).max / 4:
        _refuse_non_finite(tensor, name, feature_names)
        raise ValueError(
            f"{name} has values up to {largest:.3g}, at the end of the range of {tensor.dtype}: "
            "differences would overflow"
        )


def _refuse_equal_points(tensor: Tensor, name: str) -> None:
    n = len(tensor)
    if n == 1:
        raise ValueError(f"{name} has 1 point: at least 2 are needed")
    low, high = torch.aminmax(tensor, dim=0)
    extent = float((high - low).max())
    if extent == 0:
        raise ValueError(f"all {n} points of {name} are equal: it has no geometry")
    if extent < torch.finfo(tensor.dtype).tiny:
        raise ValueError(
            f"{name} has an extent of {extent:.3g}, at the end of the range of {tensor.dtype}: "
            "rescale the points"
        )


def _refuse_non_finite(tensor: Tensor, name: str, feature_names: Sequence[str] | None) -> None:
    bad = (~torch.isfinite(tensor)).nonzero()
    if len(bad):
        i, j = bad[0].tolist()
        named = feature_names is not None and j < len(feature_names)
        feature = repr(feature_names[j]) if named and feature_names is not None else j
        value = float(tensor[i, j])
        hint = "; preprocessing.Impute fills missing values" if value != value else ""
        raise ValueError(
            f"{name} has {len(bad)} non-finite values, the first ({value}) at "
            f"point {i}, feature {feature}{hint}"
        )

"""Clouds with gaps: values that are missing, and features that some clouds lack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from pointforms.cloud import CloudLike, column_names_of
from pointforms.clouds import Clouds
from pointforms.clouds.list_checks import cloud_name, listed
from pointforms.support.options import shown
from pointforms.tensors import as_tensor


def incomplete_clouds(
    clouds: Iterable[CloudLike] | Clouds,
    ids: Sequence[object] | None = None,
    feature_names: Sequence[Sequence[str]] | None = None,
) -> Clouds:
    """Join clouds of which some lack values (NaN) or whole features, such as channels of a panel.

    The result has every feature that some cloud has, and NaN for what is missing. Estimators
    refuse it; :class:`pointforms.preprocessing.Impute` fills the gaps.

    Parameters
    ----------
    clouds : Clouds, or iterable of data frames or of array-like, each of shape (n_i, D_i)
        Data frames are joined by the names of their columns. Arrays without names have the same
        width.
    ids : sequence or None, default None
        One name per cloud; None numbers them from 0.
    feature_names : sequence of sequence of str or None, default None
        The names of the features of each cloud, where clouds are arrays.

    Returns
    -------
    Clouds
        With the features in the order in which they first occur.

    Examples
    --------
    >>> import pandas as pd
    >>> first = pd.DataFrame({"CD3": [1.0, 2.0], "CD4": [3.0, 4.0]})
    >>> second = pd.DataFrame({"CD4": [5.0], "CD8": [6.0]})
    >>> clouds = incomplete_clouds([first, second], ids=["a", "b"])
    >>> clouds.feature_names, clouds[1]
    (('CD3', 'CD4', 'CD8'), tensor([[nan, 5., 6.]], dtype=torch.float64))
    """
    if isinstance(clouds, Clouds):
        tensors, names, own = list(clouds), list(clouds.ids), None
    else:
        items = listed(clouds)
        names = [str(i) for i in range(len(items))] if ids is None else [str(i) for i in ids]
        if len(names) != len(items):
            raise ValueError(f"ids has {len(names)} names: expected {len(items)}")
        own = _own_names(items, feature_names)
        tensors = [
            _with_gaps(cloud, cloud_name(i, names), None if own is None else own[i])
            for i, cloud in enumerate(items)
        ]
    for i, tensor in enumerate(tensors):
        if bool(tensor.isinf().any()):
            raise ValueError(f"{cloud_name(i, names)} has infinite values")
    if isinstance(clouds, Clouds):
        return clouds
    offsets = torch.tensor([0] + [len(tensor) for tensor in tensors]).cumsum(0)
    if own is None:
        D = tensors[0].shape[1]
        for i, tensor in enumerate(tensors):
            if tensor.shape[1] != D:
                raise ValueError(
                    f"{cloud_name(i, names)} has {tensor.shape[1]} features, "
                    f"{cloud_name(0, names)} has {D}: expected data frames, whose columns have "
                    "names"
                )
        features = tuple(f"x{j}" for j in range(D))
        return Clouds(torch.cat(tensors), offsets, tuple(names), features)
    features = tuple(dict.fromkeys(name for each in own for name in each))
    parts = [in_columns(t, each, features) for t, each in zip(tensors, own, strict=True)]
    return Clouds(torch.cat(parts), offsets, tuple(names), features)


def in_columns(points: Tensor, names: Sequence[str], wanted: Sequence[str]) -> Tensor:
    """Return points (n, D) with the wanted columns, NaN where there is no column of a name.

    Examples
    --------
    >>> in_columns(torch.ones(1, 1), ["CD3"], ["CD4", "CD3"])
    tensor([[nan, 1.]])
    """
    result = points.new_full((len(points), len(wanted)), float("nan"))
    place = {name: j for j, name in enumerate(wanted)}
    kept = [j for j, name in enumerate(names) if name in place]
    result[:, [place[names[j]] for j in kept]] = points[:, kept]
    return result


def _own_names(
    clouds: Sequence[Any], given: Sequence[Sequence[str]] | None
) -> list[list[str]] | None:
    """Return the names of the features of each cloud; None if no cloud has names."""
    if given is not None:
        if len(given) != len(clouds):
            raise ValueError(f"feature_names has {len(given)} items: expected {len(clouds)}")
        return [[str(name) for name in names] for names in given]
    found = [column_names_of(cloud) for cloud in clouds]
    if all(names is None for names in found):
        return None
    if any(names is None for names in found):
        i = [names is None for names in found].index(True)
        raise ValueError(f"cloud {i} has no named columns, others have: name all or none")
    return [names for names in found if names is not None]


def _with_gaps(cloud: Any, name: str, names: list[str] | None) -> Tensor:
    if column_names_of(cloud) is not None and hasattr(cloud, "select_dtypes"):
        numeric = cloud.select_dtypes("number")
        if numeric.shape[1] == cloud.shape[1]:  # nullable columns have values that are no numbers
            cloud = numeric.to_numpy(dtype=float, na_value=float("nan"))
    tensor = as_tensor(cloud, name)
    if tensor.ndim != 2 or 0 in tensor.shape:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}: expected (n, D)")
    if names is not None and len(names) != tensor.shape[1]:
        raise ValueError(f"{name} has {tensor.shape[1]} features and {len(names)} names")
    if names is not None and len(set(names)) < len(names):
        raise ValueError(f"{name} has two features of one name: {shown(names)}")
    return tensor

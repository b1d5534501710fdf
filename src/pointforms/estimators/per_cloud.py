"""What is given with every cloud, such as labels, groups and weights: checks of one entry each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from torch import Tensor

from pointforms.support.options import shown
from pointforms.tensors import as_tensor


def one_per_cloud(name: str, values: Any, count: int) -> np.ndarray:
    """Return values as an array with one entry per cloud, of one kind and none missing.

    Parameters
    ----------
    name : str
        What error messages call the values.
    values : array-like, tensor or series, shape (N,)
        Labels or names of any kind.
    count : int
        Number of clouds, N.

    Examples
    --------
    >>> one_per_cloud("y", ["a", "b"], 2)
    array(['a', 'b'], dtype='<U1')
    >>> one_per_cloud("y", ["a", 1], 2)
    Traceback (most recent call last):
    ValueError: y has entries of several kinds, int and str: expected one kind
    """
    if isinstance(values, str | bytes | dict | set) or not isinstance(values, Iterable):
        raise ValueError(f"{name}={shown(values)}: expected {count} entries, one per cloud")
    values = values.detach().cpu().numpy() if isinstance(values, Tensor) else values
    # NumPy would turn a list of different things into text
    listed = isinstance(values, list | tuple)
    array = np.fromiter(values, dtype=object) if listed else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: expected ({count},)")
    if len(array) != count:
        raise ValueError(f"{name} has {len(array)} entries for {count} clouds")
    # the item of a NumPy date may be a mere number
    plain = array.dtype.kind not in "mM"
    items = [v.item() if plain and getattr(v, "ndim", None) == 0 else v for v in array]
    for item in items:
        if isinstance(item, Iterable) and not isinstance(item, str | bytes):
            raise ValueError(f"{name} has entries like {shown(item)}: expected single values")
    missing = np.array([_is_missing(v) for v in items], dtype=bool)
    if missing.any():
        raise ValueError(
            f"{name} has {int(missing.sum())} missing entries, the first at {missing.argmax()}"
        )
    kinds = {"number" if _is_number(v) else type(v).__name__ for v in items}
    if len(kinds) > 1:
        names = sorted({type(v).__name__ for v in items})
        raise ValueError(
            f"{name} has entries of several kinds, {' and '.join(names)}: expected one kind"
        )
    if listed or (array.dtype == object and kinds == {"number"}):  # as in a nullable column
        array = np.asarray(items)
    try:
        np.sort(array)
    except TypeError:
        raise ValueError(
            f"{name} has entries like {shown(items[0])}: expected values that can be sorted"
        ) from None
    return array


def check_order(clouds: Any, **given: Any) -> None:
    """Raise an error if the index of a series or frame has the ids of the clouds in another order.

    What is given with clouds belongs to them by position, but an index of ids says otherwise.

    Parameters
    ----------
    clouds : Clouds or list
        The clouds. Only those with ids of their own are compared.
    **given : any
        What was given with them, by name.

    Examples
    --------
    >>> import pandas as pd, pointforms as pf
    >>> clouds = pf.Clouds.from_list([[[0.0], [1.0]], [[2.0], [3.0]]], ids=["b", "a"])
    >>> check_order(clouds, y=pd.Series([0, 1], index=["a", "b"]))
    Traceback (most recent call last):
    ValueError: y has the ids of the clouds in another order: use y.reindex(clouds.ids)
    """
    ids = list(getattr(clouds, "ids", ()))
    if not ids or ids == [str(i) for i in range(len(ids))]:
        return
    known = set(ids)
    for name, values in given.items():
        index = values.index.tolist() if hasattr(values, "iloc") else []
        if index == list(range(len(index))):  # mere positions
            continue
        names = [str(one) for one in index]
        if names != ids and sorted(names) == sorted(ids):
            as_text = "" if names == index else f".set_axis({name}.index.astype(str))"
            how = f"{name}{as_text}.reindex(clouds.ids)"
            raise ValueError(f"{name} has the ids of the clouds in another order: use {how}")
        for i, (one, cloud) in enumerate(zip(index, ids, strict=False)):
            if one != cloud and one in known:  # some of the clouds, as in cross-validation
                raise ValueError(
                    f"{name} and the clouds are in different orders: {name} has {one!r} at {i}, "
                    f"where the cloud is {cloud!r}"
                )


def check_groups(groups: Any, count: int) -> np.ndarray | None:
    """Return groups as an array with one entry per cloud; None stays None."""
    return None if groups is None else one_per_cloud("groups", groups, count)


def checked_weights(weights: Any, count: int) -> np.ndarray | None:
    """Return the weights of clouds, or None where all are equal.

    Only their ratios matter: those above 0 are returned with a mean of 1.

    Parameters
    ----------
    weights : array-like, tensor or series, shape (N,), or None
        Numbers of at least 0.
    count : int
        Number of clouds, N.

    Examples
    --------
    >>> checked_weights([3, 3, 0], 3)
    array([1., 1., 0.])
    >>> checked_weights([3, 3, 3], 3) is None
    True
    """
    if weights is None:
        return None
    given = as_tensor(weights, "sample_weight").double().cpu().numpy()
    if given.shape != (count,):
        raise ValueError(f"sample_weight has shape {given.shape}: expected ({count},)")
    wrong = ~(np.isfinite(given) & (given >= 0))
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(
            f"sample_weight[{first}]={given[first]}: expected finite numbers of at least 0"
        )
    if not given.any():
        raise ValueError("sample_weight is 0 for all clouds: expected a positive number for some")
    if (given == given[0]).all():
        return None
    relative = given / given.max()
    return np.asarray(relative / relative[relative > 0].mean())


def is_continuous(y: Any) -> bool:
    """Return whether y holds fractions, so that it must be numbers rather than classes."""
    try:
        array = np.asarray(y)
    except (TypeError, ValueError, RuntimeError):  # whoever uses y says what is wrong with it
        return False
    return array.dtype.kind == "f" and bool((array != np.round(array)).any())


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, infinite, or pandas' NA."""
    try:
        return value is None or bool(value != value) or value in (math.inf, -math.inf)
    except (TypeError, ValueError):  # what pandas' NA answers to any comparison
        return type(value).__name__ == "NAType"

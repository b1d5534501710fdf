"""Convert what a user passes, of whatever type, to a tensor of real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def as_tensor(values: Any, name: str, *, keep_gradient: bool = False) -> Tensor:
    """Convert real numbers to a float32 or float64 tensor, or raise an error that names them.

    Parameters
    ----------
    values : array-like or tensor
        float32 stays float32, everything else becomes float64.
    name : str
        What error messages call the values.
    keep_gradient : bool, default False
        Return a given tensor as it is instead of a detached copy.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> as_tensor([1, 2], "f")
    tensor([1., 2.], dtype=torch.float64)
    """
    if isinstance(values, Tensor):
        if values.is_complex():
            raise TypeError(f"{name} is complex: expected real numbers")
        if values.layout != torch.strided:
            raise TypeError(f"{name} is a sparse tensor: pass its to_dense()")
        if values.is_meta:
            raise TypeError(f"{name} is a tensor on the device meta: it holds no numbers")
        tensor = values if keep_gradient else values.detach().clone()
    else:
        tensor = torch.from_numpy(_as_array(values, name))
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.double()


def describe(value: object) -> str:
    """Return what a value is, for an error message: its type, and its length, dtype or text."""
    kind = type(value).__name__
    if hasattr(value, "select_dtypes"):  # a data frame: name the first column that is not numeric
        text = [str(c) for c in value.select_dtypes(exclude="number").columns]
        return f"a {kind} with the column {text[0]!r}" if text else f"a {kind}"
    if isinstance(value, np.ndarray):
        return f"an array of dtype {value.dtype}"
    if isinstance(value, list | tuple):
        return f"a {kind} of length {len(value)}"
    return f"{kind} {value!r}" if isinstance(value, str | bytes) else f"a {kind}"


def _as_array(values: Any, name: str) -> np.ndarray:
    """Return a writable float32 or float64 copy."""
    if hasattr(values, "toarray"):  # a SciPy matrix would become a 0-d object array
        raise TypeError(f"{name} is a sparse matrix: pass its toarray()")
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked values: fill or drop them first")
    try:
        array = np.asarray(values)
    except (ValueError, RuntimeError) as error:
        raise ValueError(
            f"{name} is {describe(values)} that is not a table ({error}): expected (n, D); "
            "several clouds go to gram_fields"
        ) from None
    if array.dtype.kind not in "fiub":
        numbers = _numbers_among_objects(array)
        if numbers is None:
            raise TypeError(f"{name} is {describe(values)}: expected real numbers")
        array = numbers
    single = array.dtype.kind == "f" and array.dtype.itemsize == 4
    return np.array(array, dtype=np.float32 if single else np.float64, order="C")


def _numbers_among_objects(array: np.ndarray) -> np.ndarray | None:
    """Convert objects, such as a data frame of several number types, unless some are text."""
    if array.dtype.kind != "O" or any(isinstance(value, str) for value in array.flat):
        return None
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None

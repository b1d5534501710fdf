"""Columns with one row per point: the rows of each cloud, and values that belong to a cloud."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pointforms.clouds import Clouds, check_each
from pointforms.support.options import shown
from pointforms.support.suggestions import suggest
from pointforms.tensors import as_tensor

PathLike = str | os.PathLike[str]
#: Arrays with one value per cloud, by name.
Annotations = dict[str, np.ndarray]


# Numbers in a block of rows: 32 MB in double precision.
_BLOCK = 1 << 22


class UnusableColumnError(ValueError):
    """A column does not have one value per cloud.

    Parameters
    ----------
    column : str
        Its name.
    message : str
        What is wrong, and where.
    """

    def __init__(self, column: str, message: str) -> None:
        super().__init__(message)
        self.column = column


class MissingFeatureError(ValueError):
    """A file does not have a coordinate that it is asked for."""


def missing_feature(
    message: str, name: str, known: Iterable[str], used: Iterable[str]
) -> MissingFeatureError:
    """Return an error about a missing coordinate, which suggests no name that is used already.

    Examples
    --------
    >>> missing_feature("no feature 'CD4'", "CD4", ["CD3", "CD8", "cd4"], ["CD3", "CD4", "CD8"])
    MissingFeatureError("no feature 'CD4': did you mean 'cd4'?")
    >>> missing_feature("no feature 'CD4'", "CD4", ["CD8"], ["CD4", "CD8"])
    MissingFeatureError("no feature 'CD4'")
    """
    taken = set(used)
    free = [one for one in known if one not in taken]
    return MissingFeatureError(
        f"{message}: {suggest(name, free, 'other names are')}" if free else message
    )


def group_rows(
    values: Any, codes: np.ndarray, ids: Sequence[object], names: Sequence[str]
) -> Clouds:
    """Split the rows of `values` (N, D) into clouds; row i belongs to cloud codes[i].

    The rows of a cloud keep their order. Values are read in blocks of rows, which may be on disk or
    sparse, and written to their places, so that memory holds the points once.

    Parameters
    ----------
    values : array-like, shape (N, D)
        Anything with `shape`, `dtype` and slices of rows.
    codes : ndarray of int, shape (N,)
        The cloud of each row.
    ids : sequence, shape (B,)
        Names of the clouds.
    names : sequence of str, shape (D,)
        Names of the columns.
    """
    count, D = values.shape
    place = np.empty(count, dtype=np.int64)
    place[np.argsort(codes, kind="stable")] = np.arange(count)
    single = np.dtype(values.dtype) == np.float32
    points = np.empty((count, D), dtype=np.float32 if single else np.float64)
    width = getattr(values, "width", D)  # of what is read before columns are chosen
    step = max(1, _BLOCK // max(1, width))
    for start in range(0, count, step):
        rows = slice(start, start + step)
        block = values[rows]
        block = block.toarray() if hasattr(block, "toarray") else block
        points[place[rows]] = as_tensor(block, "the coordinates").numpy()
    sizes = np.bincount(codes, minlength=len(ids))
    offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(sizes)]))
    clouds = Clouds(torch.from_numpy(points), offsets, tuple(map(str, ids)), tuple(names))
    check_each(clouds)
    return clouds


def constant_per_cloud(
    values: np.ndarray, codes: np.ndarray, ids: Sequence[object], name: str
) -> np.ndarray:
    """Return the value of each cloud in a column that must be constant within a cloud: (B,)."""
    empty = np.flatnonzero([v is None or v != v for v in values])
    if len(empty):
        raise UnusableColumnError(
            name, f"column {name!r} is empty in {counted(len(empty), 'row')}: {show_rows(empty)}"
        )
    first = np.unique(codes, return_index=True)[1]
    differs = np.flatnonzero(values != values[first][codes])
    if len(differs):
        row = int(differs[0])
        start = int(first[codes[row]])
        count = len(np.unique(codes[differs]))
        more = f" (and in {counted(count - 1, 'more cloud')})" if count > 1 else ""
        raise UnusableColumnError(
            name,
            f"column {name!r} differs inside cloud {ids[codes[row]]!r}: "
            f"{values[start]!r} in row {start}, {values[row]!r} in row {row}{more}",
        )
    return values[first]


def show_rows(rows: np.ndarray, values: Sequence[object] | None = None, most: int = 5) -> str:
    """Name the first rows for an error message, counted from 0, with the values they hold."""
    shown = [f"{i}" if values is None else f"{i} ({values[i]!r})" for i in rows[:most].tolist()]
    more = f", … ({len(rows)} in all)" if len(rows) > most else ""
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(shown)}{more}"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural.

    Examples
    --------
    >>> counted(1, "row"), counted(3, "row")
    ('1 row', '3 rows')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def column_names(argument: str, given: Any) -> list[str]:
    """Return the names of columns that were passed as an argument, or raise an error."""
    listed = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    names = list(given) if listed and np.ndim(given) == 1 else [None]
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument}={shown(given)}: expected a list of column names")
    return [str(name) for name in names]


def column_name(argument: str, given: Any) -> str:
    """Return the name of a column that was passed as an argument, or raise an error."""
    if not isinstance(given, str):
        raise TypeError(f"{argument}={shown(given)}: expected the name of a column")
    return str(given)


def existing_file(path: PathLike) -> Path:
    """Return the path, or raise an error if there is no such file."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file {str(path)!r}")
    return Path(path)

"""What the readers share: rows of clouds, values of clouds, and words for what is wrong."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from pointforms.clouds import Clouds

PathLike = str | os.PathLike[str]
Annotations = dict[str, np.ndarray]


def grouped(
    values: np.ndarray, codes: np.ndarray, ids: Sequence[object], names: Sequence[str]
) -> Clouds:
    rows = rows_of(codes, len(ids))
    return Clouds.from_list([values[r] for r in rows], ids, names)


def rows_of(codes: np.ndarray, count: int) -> list[np.ndarray]:
    """Rows of each group, in the order of the table."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=count))[:-1])


def one_a_cloud(
    values: np.ndarray, codes: np.ndarray, ids: Sequence[object], name: str
) -> np.ndarray:
    """The value of every cloud, which all of its rows must have."""
    empty = np.flatnonzero([v is None or v != v for v in values])
    if len(empty):
        raise ValueError(f"column {name!r} is empty in {len(empty)} rows: {some_rows(empty)}")
    first = np.unique(codes, return_index=True)[1]
    differs = np.flatnonzero(values != values[first][codes])
    if len(differs):
        row = int(differs[0])
        start = int(first[codes[row]])
        clouds = len(np.unique(codes[differs]))
        more = f" (and in {clouds - 1} more clouds)" if clouds > 1 else ""
        raise ValueError(
            f"column {name!r} differs inside cloud {ids[codes[row]]!r}: "
            f"{values[start]!r} in row {start}, {values[row]!r} in row {row}{more}"
        )
    return values[first]


def some_rows(rows: np.ndarray, values: Sequence[object] | None = None, most: int = 5) -> str:
    """Some rows, counted from 0, with what they hold."""
    shown = [f"{i}" if values is None else f"{i} ({values[i]!r})" for i in rows[:most].tolist()]
    more = f", … ({len(rows)} in all)" if len(rows) > most else ""
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(shown)}{more}"


def existing(path: PathLike) -> Path:
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file {str(path)!r}")
    return Path(path)


def present(names: Sequence[str], wanted: str, most: int = 8) -> str:
    """What there is instead, the likeliest first."""
    known = [str(name) for name in names]
    close = get_close_matches(wanted.lower(), [name.lower() for name in known], n=1)
    if close:
        likely = next(name for name in known if name.lower() == close[0])
        return f"did you mean {likely!r}?"
    shown = ", ".join(repr(name) for name in known[:most]) or "nothing"
    return f"there is {shown}" + (f", … ({len(known)} in all)" if len(known) > most else "")

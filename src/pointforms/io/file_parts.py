"""What a reader takes out of a file, before anything is judged: clouds, and columns beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io.columns import (
    Annotations,
    UnusableColumnError,
    constant_per_cloud,
    counted,
    group_rows,
    show_rows,
)
from pointforms.io.read_options import ReadOptions

#: What to do about missing values, for messages.
DROP_MISSING = "--drop-missing (in Python drop_missing=True)"


class Wanted(NamedTuple):
    """Columns to read beside the coordinates.

    Attributes
    ----------
    names : list of str
        Columns that must have one value per cloud.
    ignored : list of str
        Columns that are not read, and are no coordinates either.
    left_out : dict of str to str
        Columns of the table of samples that are not used, with the reason.
    """

    names: list[str]
    ignored: list[str]
    left_out: dict[str, str]


#: Chooses the columns to read from those that there are, or raises an error; the others
#: are how a message calls a column, such as "array {!r}", and how it introduces a list of them.
ChooseColumns = Callable[[Sequence[str], str, str], Wanted]


@dataclass
class FileParts:
    """Clouds and columns of a file.

    Attributes
    ----------
    clouds : Clouds
        The clouds with every coordinate that may be used.
    annotations : dict of array, shape (B,)
        Columns with one value per cloud.
    left_out : dict of str to str
        Columns that are not used, with the reason.
    remarks : list of str
        What was dropped or changed.
    """

    clouds: Clouds
    annotations: Annotations
    left_out: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def parts_of_rows(
    values: Any,
    names: Sequence[str],
    cloud: np.ndarray,
    columns: dict[str, np.ndarray],
    options: ReadOptions,
    left_out: dict[str, str],
) -> FileParts:
    """Divide the rows of a table into clouds, without those that have missing values if asked.

    Parameters
    ----------
    values : array or sparse matrix, shape (N, D)
        Coordinates.
    names : sequence of str
        Names of the D coordinates.
    cloud : ndarray of object, shape (N,)
        The id of each row's cloud; None where it is missing.
    columns : dict of ndarray of object, shape (N,)
        The columns that must have one value per cloud, with one value per row.
    options : ReadOptions
        What is dropped.
    left_out : dict of str to str
        Columns that are not used, with the reason.
    """
    keep = _complete_rows(values, names, cloud, columns, options)
    remarks = []
    if not keep.all():
        remarks.append(f"{int((~keep).sum())} of {len(keep)} points dropped: missing values")
        values, cloud = values[keep], cloud[keep]
        columns = {name: column[keep] for name, column in columns.items()}
    if not len(cloud):
        raise ValueError("no row without missing values is left")
    ids, codes = _numbered(cloud)
    found: Annotations = {
        name: constant_per_cloud(column, codes, ids, name) for name, column in columns.items()
    }
    return FileParts(group_rows(values, codes, ids, names), found, left_out, remarks)


def _complete_rows(
    values: Any,
    names: Sequence[str],
    cloud: np.ndarray,
    columns: dict[str, np.ndarray],
    options: ReadOptions,
) -> np.ndarray:
    """Return which rows have all values; raise an error if some lack one that is not dropped."""
    keep = np.ones(len(cloud), dtype=bool)
    for name, column in ((options.cloud, cloud), *columns.items()):
        empty = missing(column)
        if empty.any() and (empty.all() or not options.drop_missing):
            rows = np.flatnonzero(empty)
            drop = "" if empty.all() else f"; {DROP_MISSING} leaves these points out"
            raise UnusableColumnError(
                name,
                f"column {name!r} is empty in {len(rows)} of {counted(len(cloud), 'row')}: "
                f"{show_rows(rows)}{drop}",
            )
        keep &= ~empty
    finite = _finite(values)
    if not finite.all() and not options.drop_missing:
        raise ValueError(_missing_values(finite, names, options.features is None))
    return np.asarray(keep & finite.all(1)) if finite.ndim == 2 else keep


def missing(values: np.ndarray) -> np.ndarray:
    """Return which values of a column are None, NaN or empty text: (N,)."""
    return np.array(
        [v is None or type(v).__name__ == "NAType" or v != v or v == "" for v in values],
        dtype=bool,
    )


def _finite(values: Any) -> np.ndarray:
    """Return which coordinates are finite, (N, D); a single True if all of a sparse matrix are."""
    if hasattr(values, "toarray"):
        data = values.tocsr().data
        if np.isfinite(data).all():
            return np.array(True)
        return np.asarray(np.isfinite(values.toarray()))
    return np.asarray(np.isfinite(values))


def _missing_values(finite: np.ndarray, names: Sequence[str], may_drop: bool) -> str:
    """Say where values are missing, and what helps."""
    bad = np.flatnonzero(~finite.all(0))
    texts = []
    for j in bad[:3]:
        rows = np.flatnonzero(~finite[:, j])
        texts.append(
            f"column {names[j]!r} has {counted(len(rows), 'missing or non-finite value')}: "
            f"{show_rows(rows)}"
        )
    more = f"; so have {counted(len(bad) - 3, 'more column')}" if len(bad) > 3 else ""
    rows_in_all = int((~finite.all(1)).sum())
    drop = f", --drop {names[bad[0]]} the column" if may_drop else ""
    return (
        f"{'; '.join(texts)}{more}; {DROP_MISSING} leaves out the {rows_in_all} of {len(finite)} "
        f"points{drop}"
    )


def _numbered(cloud: np.ndarray) -> tuple[list[object], np.ndarray]:
    """Return the ids of clouds in order of first appearance, and the place of each row's."""
    places: dict[object, int] = {}
    codes = np.array([places.setdefault(v, len(places)) for v in cloud.tolist()], dtype=np.int64)
    return list(places), codes

"""Files of one's own, read and understood: clouds, labels, groups, and what was left out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io.anndata_parts import anndata_parts
from pointforms.io.archive_parts import archive_parts
from pointforms.io.columns import Annotations, PathLike, UnusableColumnError, counted, existing_file
from pointforms.io.fcs_parts import fcs_parts
from pointforms.io.file_parts import FileParts, Wanted
from pointforms.io.file_summary import (
    FileSummary,
    shown_counts,
    shown_left_out,
    shown_names,
    shown_sizes,
)
from pointforms.io.group_names import guess_group
from pointforms.io.labels import as_texts, understand_labels
from pointforms.io.leaks import categories, suspicious_columns
from pointforms.io.read_options import ReadOptions
from pointforms.io.samples import Samples, some_clouds
from pointforms.io.table_parts import table_parts
from pointforms.support.suggestions import suggest


@dataclass(frozen=True, eq=False)
class FileContent:
    """What a file holds.

    Attributes
    ----------
    clouds : Clouds
        The clouds, with their ids and the names of the features.
    labels : ndarray of str or float, shape (B,), or None
        Classes, or numbers to predict; None if they were not asked for.
    regression : bool
        Whether the labels are numbers to predict.
    groups : ndarray of str, shape (B,), or None
        The group of each cloud; None if every cloud is a group of its own.
    batch : ndarray of str, shape (B,), or None
        The batch of each cloud.
    covariates : dict of array, shape (B,), or None
        Covariates by name.
    divisions : dict of array, shape (B,)
        The columns `fold` and `split`, where the file has them.
    summary : FileSummary
        What was understood. Print it.

    Examples
    --------
    >>> import pandas as pd, pointforms as pf
    >>> table = pd.DataFrame({"cloud": ["a", "a"], "CD3": [0.1, 0.7]})
    >>> content = pf.io.read_file(table, labels=False)
    >>> content.clouds.ids, content.labels is None
    (('a',), True)
    """

    clouds: Clouds
    labels: np.ndarray | None
    regression: bool
    groups: np.ndarray | None
    batch: np.ndarray | None
    covariates: dict[str, np.ndarray] | None
    divisions: Annotations
    summary: FileSummary


def read_file(
    data: PathLike | Any,
    options: ReadOptions | None = None,
    labels: bool = True,
    max_bytes: int | None = None,
) -> FileContent:
    """Read a file of clouds, and refuse columns that look like a leak.

    Refused are coordinates that have one value per cloud, look like an identifier, or are named as
    groups, folds or batches, unless `options.features` or `options.allow` names them. A column of
    groups, named or taken by its name, must have one value in every cloud, because learning without
    groups would let clouds of one patient be on both sides of a split.

    Parameters
    ----------
    data : path-like, data frame or AnnData
        A .parquet, .csv or .tsv table with one row per point, an .npz archive, an .h5ad file, or a
        folder of .fcs files with a table samples.csv.
    options : ReadOptions or None, default None
        Roles of the columns, and what to leave out.
    labels : bool, default True
        Whether the file must have labels; otherwise they are ignored.
    max_bytes : int or None, default None
        The largest size of the arrays in the file that is accepted, in bytes. None stands for the
        environment variable POINTFORMS_MAX_BYTES, or for 8 GiB.

    Returns
    -------
    FileContent

    Examples
    --------
    >>> import pandas as pd, pointforms as pf
    >>> table = pd.DataFrame(
    ...     {
    ...         "cloud": ["a", "a", "b", "b"],
    ...         "label": ["yes", "yes", "no", "no"],
    ...         "CD3": [0.1, 0.7, 0.3, 0.2],
    ...         "note": ["", "", "", "late"],
    ...     }
    ... )
    >>> print(pf.io.read_file(table).summary)
    clouds    2 of 2 points
    features  1: CD3
    left out  note (text)
    label     label: no 1, yes 1 (classification)
    groups    none: every cloud is a group of its own
    """
    options = ReadOptions() if options is None else options
    path = Path(data) if isinstance(data, str | os.PathLike) else None
    if path is not None and not path.is_dir():
        existing_file(path)
    source = data if path is None else path
    samples = Samples.beside(source, options, max_bytes)
    columns = _Columns(options, labels, samples, path is not None and path.is_dir())
    reader = _reader(source)
    try:
        parts = reader(source, options, columns.choose, max_bytes)
        if samples is not None and columns.from_samples:
            parts = samples.add_to(parts, columns.from_samples, options.drop_missing)
    except UnusableColumnError as error:
        if options.group is None and error.column == columns.group:
            raise ValueError(f"{error}; {_by_name(error.column)}") from None
        raise
    parts = _without_small(parts, options.drop_small)
    _check_distinct(parts.clouds)
    _check_leaks(parts, options)
    return _content(parts, options, labels, columns.group)


def _reader(data: Any) -> Any:
    if isinstance(data, Path):
        if data.is_dir():
            return fcs_parts
        kind = data.suffix.lower()
        if kind not in _READERS:
            raise ValueError(
                f"{str(data)!r} cannot be read: expected a file that ends in "
                f"{', '.join(_READERS)}, or a folder of .fcs files"
            )
        return _READERS[kind]
    return anndata_parts if type(data).__name__ in _CELLS else table_parts


class MissingColumnError(ValueError):
    """A file does not have a column that it is asked for."""


# How files are read, by their suffix.
_READERS: dict[str, Any] = {
    ".parquet": table_parts,
    ".csv": table_parts,
    ".tsv": table_parts,
    ".npz": archive_parts,
    ".h5ad": anndata_parts,
}
# Containers of cells; the reader of AnnData refuses those that are not supported yet.
_CELLS = ("AnnData", "MuData", "SpatialData")


def _by_name(column: str) -> str:
    """Say that a column is taken as the group by its name, and what to do if it should not be."""
    return (
        "it is taken as the group by its name: --group COLUMN names another column, "
        f"--drop {column} learns without groups"
    )


class _Columns:
    """The columns that have a role, and where each of them is found."""

    def __init__(
        self, options: ReadOptions, labels: bool, samples: Samples | None, folder: bool
    ) -> None:
        self.options, self.labels, self.folder = options, labels, folder
        self.beside = [] if samples is None else [n for n in samples.names if n != samples.key]
        self.group: str | None = options.group
        self.from_samples: list[str] = []

    def choose(self, known: Sequence[str], what: str, intro: str) -> Wanted:
        """Return the columns to read from a file that has some columns."""
        options = self.options
        needed = [options.label] * self.labels + [options.group, options.batch]
        names = []
        read_by_model = {options.batch, *options.covariates}
        for name in dict.fromkeys((*needed, *options.covariates)):
            if name is None or not (self.labels or name in read_by_model):
                continue  # predictions need no groups
            if name in known or name == options.cloud:
                names.append(name)
            elif name in self.beside:
                self.from_samples.append(name)
            else:
                raise MissingColumnError(self._no_column(what.format(name), name, known, intro))
        taken = {options.cloud, *names, *self.from_samples, *options.drop}
        taken |= set(options.features or ())
        if self.labels:
            names += [name for name in ("fold", "split") if name in known and name not in taken]
        ignored: list[str] = []
        if not self.labels:  # they are no coordinates either
            others = (options.label, options.group or guess_group(known), "fold", "split")
            ignored = [n for n in dict.fromkeys(others) if n in known and n not in taken]  # type: ignore[misc]
        elif self.group is None:
            self.group = guess_group([n for n in (*known, *self.beside) if n not in taken])
            if self.group is not None:
                (names if self.group in known else self.from_samples).append(self.group)
        dropped = {n: "dropped" for n in options.drop if n in self.beside and n not in known}
        return Wanted([name for name in names if name != options.cloud], ignored, dropped)

    def _no_column(self, what: str, name: str, known: Sequence[str], intro: str) -> str:
        if self.folder and not self.beside:
            return (
                f"no {what}: expected a table samples.csv in the folder, or --samples FILE, with "
                f"the columns file and {name}"
            )
        names = [*known, *self.beside]
        if not names:
            return (
                f"no {what}: the file has the clouds only; --samples FILE names a table with one "
                f"row per cloud and the column {name}"
            )
        return f"no {what}: {suggest(name, names, intro)}"


def _without_small(parts: FileParts, least: int) -> FileParts:
    sizes = parts.clouds.sizes.numpy()
    if least and (sizes < least).any():
        small = [name for name, size in zip(parts.clouds.ids, sizes, strict=True) if size < least]
        if len(small) == len(sizes):
            raise ValueError(f"every cloud has fewer than {least} points")
        dropped = f"{counted(len(small), 'cloud')} dropped"
        parts.remarks.append(f"{dropped}: fewer than {least} points ({shown_names(small)})")
        parts = some_clouds(parts, np.flatnonzero(sizes >= least))
        sizes = sizes[sizes >= least]
    single = [name for name, size in zip(parts.clouds.ids, sizes, strict=True) if size < 2]
    if single:
        which = (
            f"clouds {shown_names(single)} have" if len(single) > 1 else f"cloud {single[0]} has"
        )
        raise ValueError(
            f"{which} one point only: --drop-small 2 (in Python drop_small=2) leaves out clouds "
            "with fewer than 2 points"
        )
    return parts


def _check_distinct(clouds: Clouds) -> None:
    """Raise an error if all points of a cloud are equal."""
    equal = [
        name
        for name, points in zip(clouds.ids, clouds, strict=True)
        if bool((points == points[0]).all())
    ]
    if equal:
        of = f"clouds {shown_names(equal)}" if len(equal) > 1 else f"cloud {equal[0]}"
        raise ValueError(
            f"all points of {of} are equal: no geometry can be estimated; leave "
            f"{'them' if len(equal) > 1 else 'it'} out of the file"
        )


def _check_leaks(parts: FileParts, options: ReadOptions) -> None:
    """Raise an error about columns that look like a leak, or remark on those that are allowed."""
    found = suspicious_columns(parts.clouds)
    refused = [s for s in found if options.features is None and s.column not in options.allow]
    if refused:
        raise ValueError("; ".join(map(str, refused)))
    for one in found:
        parts.remarks.append(f"column {one.column!r} {one.reason}, and is used as asked")
    for name, count in categories(parts.clouds).items() if options.features is None else ():
        if name not in options.allow:
            parts.remarks.append(
                f"column {name!r} is used as a coordinate, but looks like a category "
                f"({counted(count, 'different whole number')}): --drop {name} leaves it out"
            )


def _content(
    parts: FileParts, options: ReadOptions, labels: bool, group: str | None
) -> FileContent:
    clouds, found = parts.clouds, parts.annotations
    if options.cloud not in found:  # the cloud itself may be the group, the batch or a covariate
        found = found | {options.cloud: np.array(clouds.ids, dtype=object)}
    names = clouds.feature_names
    entries = {
        "clouds": shown_sizes(clouds.sizes.numpy()),
        "features": f"{len(names)}: {shown_names(names)}",
        "left out": shown_left_out(parts.left_out),
        "remarks": "; ".join(parts.remarks),
    }
    values, regression = None, False
    if labels:
        values, regression, entries["label"] = understand_labels(
            found[options.label], options.label, options.kind
        )
    groups = as_texts(found[group], group) if group in found and group is not None else None
    if labels:
        entries["groups"] = _shown_groups(groups, group, options)
    batch = None if options.batch is None else as_texts(found[options.batch], options.batch)
    if batch is not None:
        entries["batch"] = f"{options.batch}: {shown_counts(batch)}"
    covariates = {name: _covariate(found[name]) for name in options.covariates} or None
    if covariates is not None:
        entries["covariates"] = ", ".join(covariates)
    return FileContent(
        clouds,
        values,
        regression,
        groups,
        batch,
        covariates,
        {name: found[name] for name in ("fold", "split") if name in found and name != group},
        FileSummary({name: text for name, text in entries.items() if text}),
    )


def _shown_groups(groups: np.ndarray | None, name: str | None, options: ReadOptions) -> str:
    if groups is None:
        return "none: every cloud is a group of its own"
    count = f"{name}: {len(np.unique(groups))} groups"
    if options.group is None and name != "group":
        return f"{count} (taken by its name; --group names another column)"
    return count


def _covariate(values: np.ndarray) -> np.ndarray:
    """Return a covariate as numbers, or as text."""
    items = values.tolist()
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in items):
        return np.array(items)
    return np.array([str(v) for v in items])

"""Clouds and columns of tables whose numeric columns are coordinates."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.io.columns import PathLike, existing_file, missing_feature, show_rows
from pointforms.io.file_parts import ChooseColumns, FileParts, parts_of_rows
from pointforms.io.group_names import GROUP_NAMES
from pointforms.io.read_options import ReadOptions
from pointforms.io.tables import (
    arrow_table,
    column_names_of_parquet,
    column_numbers,
    in_words,
    is_number,
    reads_as_number,
)
from pointforms.support.suggestions import suggest

if TYPE_CHECKING:
    import pyarrow

# What pandas calls an index that it has saved.
_SAVED_INDEX = re.compile(r"^(|Unnamed: 0|__index_level_\d+__)$")
_COMMA = re.compile(r"^\s*[-+]?\d+(,\d+)?([eE][-+]?\d+)?\s*$")


def table_parts(
    table: PathLike | Any, options: ReadOptions, choose: ChooseColumns, max_bytes: int | None
) -> FileParts:
    """Return the clouds of a table, with every numeric column that has no other role.

    Parameters
    ----------
    table : path-like, or data frame of pandas, polars or Arrow
        The table, or the name of a file that ends in .parquet, .csv or .tsv.
    options : ReadOptions
        Roles of the columns.
    choose : callable
        Chooses the columns to read beside the coordinates.
    max_bytes : int or None
        The largest size that is accepted.
    """
    # these stay text as it is written, so that 01 is not 1
    texts = [options.cloud, options.label, options.group, options.batch, "group", "fold", "split"]
    texts += [*GROUP_NAMES, *map(str.capitalize, GROUP_NAMES), *map(str.upper, GROUP_NAMES)]
    ids = [name for name in texts if name is not None]
    rows = arrow_table(table, ids, _needed(table, options), max_bytes)
    repeated = {name for name in rows.column_names if rows.column_names.count(name) > 1}
    if repeated:
        raise ValueError(f"the table has several columns called {min(repeated)!r}")
    known = rows.column_names
    if options.cloud not in known:
        hint = suggest(options.cloud, known, "the table has the columns")
        raise ValueError(
            f"no column {options.cloud!r}: {hint} (--cloud NAME names the column of cloud ids)"
        )
    wanted = choose(known, "column {!r}", "the table has the columns")
    roles = {options.cloud, *wanted.names, *wanted.ignored}
    features = options.features or ()
    for name in features:
        if name not in known:
            message = f"no feature column {name!r}"
            raise missing_feature(message, name, known, {*features, *roles})
    for name in (*options.drop, *options.allow):
        if name not in known and name not in wanted.left_out:
            raise ValueError(f"no feature column {name!r}: {suggest(name, known)}")
    if rows.num_rows == 0:
        raise ValueError("the table has no rows")
    if options.decimal_comma:
        rows = _with_points(rows, roles - set(options.covariates))
    rows = _numbers_again(rows, set(ids) - roles)
    left_out = dict(wanted.left_out)
    chosen = _coordinates(rows, options, roles, left_out)
    if not chosen:
        given = options.features is not None
        cause = "features is empty" if given else "the table has no numeric column"
        raise ValueError(f"{cause}: expected columns of coordinates besides {options.cloud!r}")
    values = np.column_stack([column_numbers(rows.column(name)) for name in chosen])
    return parts_of_rows(
        values,
        chosen,
        _objects(rows, options.cloud),
        {name: _objects(rows, name) for name in wanted.names},
        options,
        left_out,
    )


def _needed(table: PathLike | Any, options: ReadOptions) -> list[str] | None:
    """Return the columns of a parquet file that are needed, if the coordinates are known."""
    if options.features is None or not isinstance(table, str | os.PathLike):
        return None
    path = existing_file(table)
    if path.suffix.lower() != ".parquet":
        return None
    known = column_names_of_parquet(path)
    return [options.cloud, *options.features, *(c for c in options.covariates if c in known)]


def _objects(rows: pyarrow.Table, name: str) -> np.ndarray:
    return np.array([*rows.column(name).to_pylist(), None], dtype=object)[:-1]


def _coordinates(
    rows: pyarrow.Table, options: ReadOptions, roles: set[str], left_out: dict[str, str]
) -> list[str]:
    """Return the given columns, or all that hold numbers, and say why others are left out."""
    import pyarrow as pa

    given = options.features
    chosen = []
    for name in rows.column_names if given is None else given:
        if given is None and name in roles:
            continue
        kind = rows.schema.field(name).type
        if name in options.drop:
            left_out[name] = "dropped"
        elif _SAVED_INDEX.match(name) and given is None:
            left_out[name] = "the index of a data frame"
        elif is_number(kind):
            if given is None and rows.column(name).null_count == rows.num_rows:
                left_out[name] = "empty"
            else:
                chosen.append(name)
        elif pa.types.is_null(kind):
            if given is not None:
                raise ValueError(f"column {name!r} is empty")
            left_out[name] = "empty"
        else:
            _check_text(name, rows.column(name), given is not None)
            left_out[name] = in_words(kind)
    return chosen


def _check_text(name: str, column: pyarrow.ChunkedArray, named: bool) -> None:
    """Raise an error if a column that holds no numbers was meant to. A named one is needed."""
    drop = "" if named else f"--drop {name} leaves the column out"
    values = column.to_pylist()
    texts = [value for value in values if isinstance(value, str)]
    if texts and all(map(_COMMA.match, texts)) and any("," in text for text in texts):
        rows = [i for i, value in enumerate(values) if isinstance(value, str) and "," in value]
        raise ValueError(
            f"column {name!r} has decimal commas in {show_rows(np.array(rows), values)}: "
            "--decimal-comma (in Python decimal_comma=True) reads them as numbers"
            f"{drop and ', '}{drop}"
        )
    bad = [i for i, value in enumerate(values) if not reads_as_number(value)]
    if not bad:
        raise TypeError(
            f"column {name!r} holds numbers as text: convert it{drop and ', or '}{drop}"
        )
    if named or len(bad) < len(values):
        raise TypeError(
            f"column {name!r} holds {in_words(column.type)} instead of numbers in "
            f"{show_rows(np.array(bad, dtype=int), values)}{drop and '; '}{drop}"
        )


def _numbers_again(rows: pyarrow.Table, names: set[str]) -> pyarrow.Table:
    """Turn text into numbers in columns that were kept as text, and turned out to have no role."""
    import pyarrow as pa

    for i, name in enumerate(rows.column_names):
        column = rows.column(name)
        if name not in names or not pa.types.is_string(column.type):
            continue
        values = [value for value in column.to_pylist() if value is not None]
        if values and all(map(reads_as_number, values)):
            rows = rows.set_column(i, name, column.cast(pa.float64()))
    return rows


def _with_points(rows: pyarrow.Table, roles: set[str]) -> pyarrow.Table:
    """Turn text with decimal commas into numbers, in columns without a role."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, name in enumerate(rows.column_names):
        column = rows.column(name)
        if name in roles or not pa.types.is_string(column.type):
            continue
        values = [value for value in column.to_pylist() if value is not None]
        if values and all(map(_COMMA.match, values)):
            text = pc.replace_substring(pc.utf8_trim_whitespace(column), ",", ".")
            rows = rows.set_column(i, name, text.cast(pa.float64()))
    return rows

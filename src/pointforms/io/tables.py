"""Clouds from tables: parquet, CSV, data frames."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io.columns import (
    Annotations,
    PathLike,
    column_name,
    column_names,
    constant_per_cloud,
    counted,
    existing_file,
    group_rows,
    show_rows,
)
from pointforms.io.limits import check_size
from pointforms.support.extras import need
from pointforms.support.suggestions import suggest

if TYPE_CHECKING:
    import pyarrow


def read_table(
    table: PathLike | Any,
    cloud: str,
    features: Sequence[str] | None = None,
    max_bytes: int | None = None,
) -> Clouds:
    """Read clouds from a table with one row per point.

    Needs the extra `table`.

    Parameters
    ----------
    table : path-like, or data frame of pandas, polars or Arrow
        The table, or the name of a file that ends in .parquet, .csv or .tsv.
    cloud : str
        Column with the id of each point's cloud. Clouds come in the order in which their ids
        first appear.
    features : sequence of str or None, default None
        Columns of coordinates. None takes every numeric column except `cloud`.
    max_bytes : int or None, default None
        The largest size of the arrays in the file that is accepted, in bytes. None stands for the
        environment variable POINTFORMS_MAX_BYTES, or for 8 GiB.

    Returns
    -------
    Clouds

    Examples
    --------
    >>> import pandas as pd, pointforms as pf
    >>> frame = pd.DataFrame({"id": ["b", "a", "b"], "x": [0.0, 1.0, 2.0], "y": [3, 4, 5]})
    >>> clouds = pf.read_table(frame, cloud="id")
    >>> clouds.ids, clouds.feature_names, clouds.sizes.tolist()
    (('b', 'a'), ('x', 'y'), [2, 1])
    """
    return read_annotated_table(table, cloud, features, max_bytes=max_bytes)[0]


def read_annotated_table(
    table: PathLike | Any,
    cloud: str,
    features: Sequence[str] | None = None,
    annotations: Sequence[str] = (),
    optional: Sequence[str] = (),
    max_bytes: int | None = None,
) -> tuple[Clouds, Annotations]:
    """Read clouds and columns with one value per cloud, such as labels, from a table.

    Needs the extra `table`.

    Parameters
    ----------
    table : path-like, or data frame of pandas, polars or Arrow
        As for :func:`read_table`.
    cloud : str
        Column with the id of each point's cloud.
    features : sequence of str or None, default None
        Columns of coordinates. None takes every numeric column except `cloud` and the annotations.
    annotations : sequence of str, default ()
        Columns to read that are constant within each cloud.
    optional : sequence of str, default ()
        Further such columns to read where they exist.
    max_bytes : int or None, default None
        The largest size that is accepted, as for :func:`read_table`.

    Returns
    -------
    clouds : Clouds
    annotations : dict of array, shape (B,)
        Values of the annotations, one per cloud.

    Examples
    --------
    >>> import pandas as pd, pointforms as pf
    >>> frame = pd.DataFrame({"id": ["b", "a", "b"], "x": [0.0, 1.0, 2.0], "age": [61, 47, 61]})
    >>> clouds, values = pf.io.read_annotated_table(frame, cloud="id", annotations=["age"])
    >>> clouds.feature_names, values["age"].tolist()
    (('x',), [61, 47])
    """
    cloud = column_name("cloud", cloud)
    features = None if features is None else column_names("features", features)
    needed = None if features is None else (cloud, *annotations, *features)
    rows = arrow_table(table, (cloud, *annotations, *optional), needed, max_bytes)
    annotations = [*annotations, *(name for name in optional if name in rows.column_names)]
    repeated = {name for name in rows.column_names if rows.column_names.count(name) > 1}
    if repeated:
        raise ValueError(f"the table has several columns called {min(repeated)!r}")
    for name in (cloud, *annotations):
        if name not in rows.column_names:
            hint = suggest(name, rows.column_names, "the table has the columns")
            raise ValueError(f"no column {name!r}: {hint}")
    chosen = _feature_columns(rows, features, (cloud, *annotations))
    if not chosen:
        cause = "features is empty" if features is not None else "the table has no numeric column"
        raise ValueError(f"{cause}: expected columns of coordinates besides {cloud!r}")
    named = rows.column(cloud).combine_chunks()
    if named.null_count:
        empty = np.flatnonzero(np.asarray(named.is_null()))
        raise ValueError(
            f"column {cloud!r} is empty in {len(empty)} of {rows.num_rows} rows: {show_rows(empty)}"
        )
    encoded = _expanded(named).dictionary_encode()
    codes, names = np.asarray(encoded.indices), encoded.dictionary.to_pylist()
    columns = [column_numbers(rows.column(name)) for name in chosen]
    for name, column in zip(chosen, columns, strict=True):
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise ValueError(
                f"column {name!r} has {counted(len(bad), 'missing or non-finite value')}: "
                f"{show_rows(bad)}"
            )
    values = {name: np.array(rows.column(name).to_pylist(), dtype=object) for name in annotations}
    values_per_cloud = {
        name: constant_per_cloud(values[name], codes, names, name) for name in annotations
    }
    return group_rows(np.column_stack(columns), codes, names, chosen), values_per_cloud


def arrow_table(
    table: PathLike | Any, ids: Sequence[str], needed: Sequence[str] | None, max_bytes: int | None
) -> pyarrow.Table:
    """Read a table; columns named in `ids` stay text as it is written, so that 01 is not 1.

    Of a parquet file only these and the needed columns are read, unless `needed` is None.
    """
    path = existing_file(table) if isinstance(table, str | os.PathLike) else None
    pa = need("pyarrow", "table")
    if isinstance(table, pa.Table):
        return table
    if type(table).__module__.startswith("pandas.") and hasattr(table, "columns"):
        return _from_pandas(table)
    if path is None:
        if hasattr(table, "__arrow_c_stream__"):
            return pa.table(table)
        raise TypeError(f"table is a {type(table).__name__}: expected a path or a data frame")
    kind = path.suffix.lower()
    if kind not in (".parquet", ".csv", ".tsv"):
        of_folder = "; a folder of .fcs files is read as a whole" if kind == ".fcs" else ""
        raise ValueError(
            f"{str(table)!r} is not a table: expected .parquet, .csv or .tsv{of_folder}"
        )
    try:
        if kind == ".parquet":
            return _read_parquet(path, ids, needed, max_bytes)
        import pyarrow.csv as csv

        check_size(path, path.stat().st_size, max_bytes)
        parse = csv.ParseOptions(delimiter=_delimiter(path) if kind == ".csv" else "\t")
        convert = csv.ConvertOptions(
            column_types={name: pa.string() for name in ids}, strings_can_be_null=True
        )
        rows = csv.read_csv(path, parse_options=parse, convert_options=convert)
        _ = rows.column_names  # decoded now, inside the block
        return rows
    except (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        raise ValueError(f"{str(table)!r} cannot be read as {kind[1:]}: {error}") from None


def _delimiter(path: Path) -> str:
    """Return the semicolon if it separates the names in the first line, otherwise the comma."""
    with path.open("rb") as file:
        header = file.readline(1 << 20)
    return ";" if header.count(b";") > header.count(b",") else ","


def _from_pandas(frame: Any) -> pyarrow.Table:
    import pyarrow as pa

    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError) as error:  # such as values of several types in a column
        reasons = "; ".join(str(reason) for reason in error.args)
        raise ValueError(f"the data frame cannot be read as a table: {reasons}") from None


def column_names_of_parquet(path: Path) -> list[str]:
    """Return the names of the columns of a parquet file; none if it cannot be read."""
    pa = need("pyarrow", "table")
    import pyarrow.parquet as parquet

    try:
        with parquet.ParquetFile(path) as file:
            return list(file.schema_arrow.names)
    except (pa.ArrowException, OSError, UnicodeDecodeError):  # whoever reads it says so
        return []


def _read_parquet(
    path: Path, ids: Sequence[str], needed: Sequence[str] | None, max_bytes: int | None
) -> pyarrow.Table:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
    if not set(needed or ()) <= set(schema.names):
        return schema.empty_table()  # the caller reports what is missing, and what there is
    # pandas stores its index as columns: they are not features, and neither are lists
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    chosen = [
        field
        for field in schema
        if field.name in ids
        or (
            field.name not in index
            and (field.name in needed if needed is not None else not pa.types.is_nested(field.type))
        )
    ]
    texts = [field.name for field in chosen if _is_text(field.type)]
    # text is stored once per value: a small file may repeat a long one in every row
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        width = sum(_bytes_per_row(field.type) for field in chosen)
        check_size(path, file.metadata.num_rows * width, max_bytes)
        batches, total = [], 0
        for batch in file.iter_batches(columns=[field.name for field in chosen]):
            total += sum(map(_expanded_bytes, batch.columns))
            check_size(path, total, max_bytes)
            columns = list(map(_expanded, batch.columns))
            batches.append(pa.RecordBatch.from_arrays(columns, names=batch.schema.names))
    return pa.Table.from_batches(batches) if batches else pa.schema(chosen).empty_table()


def _is_text(kind: pyarrow.DataType) -> bool:
    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind))


def _expanded_bytes(column: pyarrow.Array) -> int:
    """Return the size of a column in which every row has its own value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(column, pa.DictionaryArray):
        return int(column.nbytes)
    try:
        lengths = pc.binary_length(column.dictionary).take(column.indices)
    except pa.ArrowNotImplementedError:  # of numbers
        return len(column) * 8
    return len(column) * 4 + (pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0)


def _expanded(column: pyarrow.Array) -> pyarrow.Array:
    """Give every row its own value, also of categories."""
    import pyarrow as pa

    return column.cast(column.type.value_type) if isinstance(column, pa.DictionaryArray) else column


def _bytes_per_row(kind: pyarrow.DataType) -> int:
    try:
        return int(kind.bit_width + 7) // 8
    except ValueError:  # of any length
        return 4


def _feature_columns(
    rows: pyarrow.Table, features: Sequence[str] | None, others: Sequence[str]
) -> list[str]:
    """Return the given columns, or all that hold numbers; raise an error if one almost does."""
    for name in features or ():
        if name not in rows.column_names:
            raise ValueError(f"no feature column {name!r}: {suggest(name, rows.column_names)}")
    if rows.num_rows == 0:
        raise ValueError("the table has no rows")
    # a column without a name is an index that pandas saved
    candidates = [n for n in rows.column_names if n not in (*others, "")]
    chosen = []
    for name in candidates if features is None else list(features):
        if is_number(rows.schema.field(name).type):
            chosen.append(name)
            continue
        values = rows.column(name).to_pylist()
        bad = [i for i, value in enumerate(values) if not reads_as_number(value)]
        if features is not None or len(bad) < len(values):
            raise TypeError(
                f"column {name!r} holds {in_words(rows.schema.field(name).type)} instead of "
                f"numbers in {show_rows(np.array(bad, dtype=int), values)}"
            )
    return chosen


def reads_as_number(value: object) -> bool:
    """Return whether a value is text that stands for a number."""
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def is_number(kind: pyarrow.DataType) -> bool:
    """Return whether a type of columns is one of numbers."""
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def in_words(kind: pyarrow.DataType) -> str:
    """Return what a column of some type holds, for messages.

    Examples
    --------
    >>> import pyarrow as pa
    >>> in_words(pa.string()), in_words(pa.bool_()), in_words(pa.date32())
    ('text', 'true or false', 'dates or times')
    """
    import pyarrow.types as types

    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if types.is_boolean(kind):
        return "true or false"
    return "dates or times" if types.is_temporal(kind) else f"values of type {kind}"


def column_numbers(column: pyarrow.ChunkedArray) -> np.ndarray:
    """Convert a column to floats, with NaN for missing values."""
    import pyarrow as pa

    kind = column.type if column.type in (pa.float32(), pa.float64()) else pa.float64()
    values: np.ndarray = column.cast(kind, safe=False).to_numpy()
    return values

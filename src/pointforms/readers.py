"""Clouds from tables (parquet, CSV, data frames), FCS files, AnnData objects and NumPy archives."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from pointforms.clouds import Clouds
from pointforms.extras import need

if TYPE_CHECKING:
    import anndata
    import pyarrow

PathLike = str | os.PathLike[str]


def read_table(table: PathLike | Any, cloud: str, features: Sequence[str] | None = None) -> Clouds:
    """Clouds from a table with one row a point and a column that says which cloud it is in.

    Parameters
    ----------
    table : path, or a pandas, polars or Arrow table
        A path ends in .parquet, .csv or .tsv.
    cloud : str
        The column of cloud ids. Clouds come in order of first appearance.
    features : list of str, or None
        The columns of coordinates; None takes every numeric column but the id.
    """
    return read_annotated_table(table, cloud, features)[0]


Annotations = dict[str, np.ndarray]


def read_annotated_table(
    table: PathLike | Any,
    cloud: str,
    features: Sequence[str] | None = None,
    annotations: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> tuple[Clouds, Annotations]:
    """The clouds of a table, and columns with one value a cloud (labels, patients): (B,) each.

    Optional annotations are those that need not be there.
    """
    pa = need("pyarrow", "table")
    if isinstance(features, str):
        raise TypeError(f"features={features!r}: expected a list of column names")
    rows = _arrow_table(table, (cloud, *annotations, *optional))
    annotations = [*annotations, *(name for name in optional if name in rows.column_names)]
    repeated = {name for name in rows.column_names if rows.column_names.count(name) > 1}
    if repeated:
        raise ValueError(f"the table has several columns {min(repeated)!r}")
    for name in (cloud, *annotations):
        if name not in rows.column_names:
            raise ValueError(f"no column {name!r}: {_present(rows.column_names, name)}")
    chosen = _feature_columns(rows, features, (cloud, *annotations))
    if not chosen:
        beside = "features is empty" if features is not None else "the table has no numeric column"
        raise ValueError(f"{beside}: expected columns of coordinates beside {cloud!r}")
    if rows.num_rows == 0:
        raise ValueError("the table has no rows")
    ids = rows.column(cloud).combine_chunks()
    if ids.null_count:
        empty = np.flatnonzero(np.asarray(ids.is_null()))
        raise ValueError(
            f"column {cloud!r} is empty in {len(empty)} of {rows.num_rows} rows: {_rows(empty)}"
        )
    if isinstance(ids, pa.DictionaryArray):
        ids = ids.cast(ids.type.value_type)
    encoded = ids.dictionary_encode()
    codes, names = np.asarray(encoded.indices), encoded.dictionary.to_pylist()
    columns = [_numbers(rows.column(name)) for name in chosen]
    for name, column in zip(chosen, columns, strict=True):
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise ValueError(
                f"column {name!r} has {len(bad)} missing or non-finite values: {_rows(bad)}"
            )
    values = {name: np.array(rows.column(name).to_pylist(), dtype=object) for name in annotations}
    found = {name: _one_a_cloud(values[name], codes, names, name) for name in annotations}
    return _grouped(np.column_stack(columns), codes, names, chosen), found


def read_anndata(
    data: anndata.AnnData | PathLike,
    cloud: str,
    use_rep: str | None = None,
    layer: str | None = None,
) -> Clouds:
    """Clouds of cells from an AnnData object (or .h5ad file), grouped by a column of `obs`.

    Parameters
    ----------
    data : AnnData or path
    cloud : str
        The column of `data.obs` with one value a cloud.
    use_rep : str or None
        Coordinates from `data.obsm[use_rep]` instead of X.
    layer : str or None
        Coordinates from `data.layers[layer]` instead of X.
    """
    return read_annotated_anndata(data, cloud, use_rep, layer)[0]


def read_annotated_anndata(
    data: anndata.AnnData | PathLike,
    cloud: str,
    use_rep: str | None = None,
    layer: str | None = None,
    annotations: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> tuple[Clouds, Annotations]:
    """The clouds of an AnnData object, and columns of `obs` with one value a cloud: (B,) each."""
    anndata = need("anndata", "sc")
    if isinstance(data, str | os.PathLike):
        path = _existing(data)
        try:
            data = anndata.read_h5ad(path)
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(f"{str(path)!r} cannot be read as .h5ad: {error}") from None
    if data.isbacked:
        data = data.to_memory()
    if use_rep is not None and layer is not None:
        raise ValueError(f"use_rep={use_rep!r} and layer={layer!r}: give one of them")
    annotations = [*annotations, *(name for name in optional if name in data.obs)]
    for name in (cloud, *annotations):
        if name not in data.obs:
            there = _present(list(data.obs.columns), name)
            raise ValueError(f"no column {name!r} in obs: {there}")
    for key, place, where in ((use_rep, data.obsm, "obsm"), (layer, data.layers, "layers")):
        if key is not None and key not in place:
            raise ValueError(f"no {key!r} in {where}: {_present(list(place.keys()), key)}")
    if use_rep is not None:
        values = data.obsm[use_rep]
        names = [f"{use_rep}_{j}" for j in range(values.shape[1])]
    else:
        values = data.X if layer is None else data.layers[layer]
        names = list(data.var_names)
        if values is None:
            raise ValueError("X is empty: name a layer or use_rep")
    column = data.obs[cloud]
    if column.isna().any():
        raise ValueError(f"obs[{cloud!r}] is empty for {int(column.isna().sum())} cells")
    codes, ids = column.factorize()
    found = {
        name: _one_a_cloud(data.obs[name].to_numpy(object), codes, list(ids), name)
        for name in annotations
    }
    if hasattr(values, "toarray"):  # sparse: its clouds are dense one at a time
        rows = _rows_of(codes, len(ids))
        clouds = Clouds.from_list([values[r].toarray() for r in rows], list(ids), names)
    else:
        clouds = _grouped(np.asarray(values), codes, list(ids), names)
    return clouds, found


def read_fcs(folder: PathLike, channels: Sequence[str] | None = None) -> Clouds:
    """Clouds of cells from a folder of FCS files, one cloud a file, named by its stem.

    Parameters
    ----------
    folder : path
    channels : list of str, or None
        Channels by their long name (PnS) or short name (PnN); None takes all, which every file
        must then have.
    """
    flowio = need("flowio", "fcs")
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"no folder {str(folder)!r}")
    files = sorted(p for p in path.iterdir() if p.suffix.lower() == ".fcs")
    if not files:
        raise ValueError(f"no .fcs file in {str(folder)!r}")
    clouds = []
    names: list[str] | None = None if channels is None else list(channels)
    for file in files:
        try:
            flow = flowio.FlowData(str(file))
        except Exception as error:  # the parser raises whatever its first bad byte leads to
            raise ValueError(f"{file.name} cannot be read as FCS: {error}") from None
        labels = [
            long or short for long, short in zip(flow.pns_labels, flow.pnn_labels, strict=True)
        ]
        # the first file sets the channels and their order
        names = labels if names is None else names
        place = {
            **{n: i for i, n in enumerate(flow.pnn_labels)},
            **{n: i for i, n in enumerate(labels)},
        }
        absent = [name for name in names if name not in place]
        if absent:
            raise ValueError(
                f"{file.name} has no channel {absent[0]!r}: {_present(labels, absent[0])}"
            )
        clouds.append(flow.as_array()[:, [place[name] for name in names]])
    return Clouds.from_list(clouds, [file.stem for file in files], names)


def save_npz(
    clouds: Clouds, path: PathLike, annotations: Mapping[str, np.ndarray] | None = None
) -> None:
    """Write clouds to a NumPy archive, .npz, that :func:`read_npz` reads.

    Annotations are arrays with one value a cloud.
    """
    if Path(path).suffix != ".npz":
        raise ValueError(f"path {str(path)!r}: expected a name that ends in .npz")
    arrays: dict[str, Any] = {
        "points": clouds.points.cpu().numpy(),
        "offsets": clouds.offsets.cpu().numpy(),
        "ids": np.array(clouds.ids, dtype=np.str_),
        "feature_names": np.array(clouds.feature_names, dtype=np.str_),
        **(annotations or {}),
    }
    np.savez_compressed(path, **arrays)


def read_npz(path: PathLike) -> Clouds:
    """Clouds from a NumPy archive with `points` (N, D) and `offsets` (B + 1,); never pickles."""
    return read_annotated_npz(path)[0]


def read_annotated_npz(
    path: PathLike, annotations: Sequence[str] = (), optional: Sequence[str] = ()
) -> tuple[Clouds, Annotations]:
    """The clouds of an archive, and arrays with one value a cloud: (B,) each."""
    try:
        with np.load(_existing(path), allow_pickle=False) as archive:
            content = {name: archive[name] for name in archive.files}
    except (BadZipFile, EOFError, TypeError, ValueError) as error:
        raise ValueError(f"{str(path)!r} is not an archive of plain arrays: {error}") from None
    annotations = [*annotations, *(name for name in optional if name in content)]
    for name in ("points", "offsets", *annotations):
        if name not in content:
            raise ValueError(
                f"{str(path)!r} has no array {name!r}: {_present(list(content), name)}"
            )
    points, offsets = np.atleast_1d(content["points"]), content["offsets"]
    ends = offsets.tolist() if offsets.ndim == 1 and offsets.dtype.kind in "iu" else []
    if len(ends) < 2 or ends[0] != 0 or ends[-1] != len(points) or sorted(ends) != ends:
        raise ValueError(f"offsets of {str(path)!r} do not rise from 0 to {len(points)} points")
    for i, (a, b) in enumerate(pairwise(ends)):
        if a == b:
            raise ValueError(
                f"cloud {i} of {str(path)!r} is empty: offsets {i} and {i + 1} are {a}"
            )
    for name in annotations:
        if content[name].shape != (len(ends) - 1,):
            raise ValueError(
                f"{name!r} of {str(path)!r} has shape {content[name].shape}: "
                f"expected one value for each of {len(ends) - 1} clouds"
            )
    clouds = Clouds.from_list(
        [points[a:b] for a, b in pairwise(ends)],
        content.get("ids"),
        content.get("feature_names"),
    )
    return clouds, {name: content[name] for name in annotations}


def _arrow_table(table: PathLike | Any, ids: Sequence[str]) -> pyarrow.Table:
    """A table with these columns, where it has them, as they are written: 01 is not 1."""
    import pyarrow as pa

    if isinstance(table, pa.Table):
        return table
    if type(table).__module__.startswith("pandas."):
        return pa.Table.from_pandas(table, preserve_index=False)
    if not isinstance(table, str | os.PathLike):
        if hasattr(table, "__arrow_c_stream__"):
            return pa.table(table)
        raise TypeError(f"table is a {type(table).__name__}: expected a path or a data frame")
    path = _existing(table)
    kind = path.suffix.lower()
    if kind not in (".parquet", ".csv", ".tsv"):
        raise ValueError(f"table {str(table)!r}: expected .parquet, .csv or .tsv")
    try:
        if kind == ".parquet":
            import pyarrow.parquet as parquet

            rows = parquet.read_table(path)
            # pandas stores its index as columns: they are not features
            stored = (rows.schema.pandas_metadata or {}).get("index_columns", [])
            index = [c for c in stored if isinstance(c, str) and c not in ids]
            return rows.drop_columns([c for c in index if c in rows.column_names])
        import pyarrow.csv as csv

        parse = csv.ParseOptions(delimiter="," if kind == ".csv" else "\t")
        convert = csv.ConvertOptions(
            column_types={name: pa.string() for name in ids}, strings_can_be_null=True
        )
        return csv.read_csv(path, parse_options=parse, convert_options=convert)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{str(table)!r} cannot be read as {kind[1:]}: {error}") from None


def _feature_columns(
    rows: pyarrow.Table, features: Sequence[str] | None, others: Sequence[str]
) -> list[str]:
    """The given columns, or all that hold numbers; a column that almost does is refused."""
    for name in features or ():
        if name not in rows.column_names:
            raise ValueError(f"no feature column {name!r}: {_present(rows.column_names, name)}")
    # a column without a name is an index that was saved
    candidates = [n for n in rows.column_names if n not in (*others, "")]
    chosen = []
    for name in candidates if features is None else list(features):
        if _is_number(rows.schema.field(name).type):
            chosen.append(name)
            continue
        values = rows.column(name).to_pylist()
        bad = [i for i, value in enumerate(values) if not _reads_as_number(value)]
        if features is not None or len(bad) < len(values):
            raise TypeError(
                f"column {name!r} holds {rows.schema.field(name).type}: "
                f"not numbers in {_rows(np.array(bad, dtype=int), values)}"
            )
    return chosen


def _reads_as_number(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def _one_a_cloud(
    values: np.ndarray, codes: np.ndarray, ids: Sequence[object], name: str
) -> np.ndarray:
    """The value of every cloud, which all of its rows must have."""
    empty = np.flatnonzero([v is None or v != v for v in values])
    if len(empty):
        raise ValueError(f"column {name!r} is empty in {len(empty)} rows: {_rows(empty)}")
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


def _rows(rows: np.ndarray, values: Sequence[object] | None = None, most: int = 5) -> str:
    """Some rows, counted from 0, with what they hold."""
    shown = [f"{i}" if values is None else f"{i} ({values[i]!r})" for i in rows[:most].tolist()]
    more = f", … ({len(rows)} in all)" if len(rows) > most else ""
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(shown)}{more}"


def _is_number(kind: pyarrow.DataType) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _numbers(column: pyarrow.ChunkedArray) -> np.ndarray:
    """A column as floats, gaps as NaN, which the check of the clouds reports."""
    import pyarrow as pa

    kind = column.type if column.type in (pa.float32(), pa.float64()) else pa.float64()
    values: np.ndarray = column.cast(kind, safe=False).to_numpy()
    return values


def _grouped(
    values: np.ndarray, codes: np.ndarray, ids: Sequence[object], names: Sequence[str]
) -> Clouds:
    rows = _rows_of(codes, len(ids))
    return Clouds.from_list([values[r] for r in rows], ids, names)


def _rows_of(codes: np.ndarray, count: int) -> list[np.ndarray]:
    """Rows of each group, in the order of the table."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=count))[:-1])


def _existing(path: PathLike) -> Path:
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file {str(path)!r}")
    return Path(path)


def _present(names: Sequence[str], wanted: str, most: int = 8) -> str:
    """What there is instead, the likeliest first."""
    known = [str(name) for name in names]
    close = get_close_matches(wanted.lower(), [name.lower() for name in known], n=1)
    if close:
        likely = next(name for name in known if name.lower() == close[0])
        return f"did you mean {likely!r}?"
    shown = ", ".join(repr(name) for name in known[:most]) or "nothing"
    return f"there is {shown}" + (f", … ({len(known)} in all)" if len(known) > most else "")

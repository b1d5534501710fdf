"""The parts of AnnData that clouds are made of, in memory or in an .h5ad file on disk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from pointforms.io.limits import check_size

Place = Literal["X", "layers", "obsm", "varm"]


class Cells(Protocol):
    """Cells with columns of `obs`, and arrays that are read when they are asked for."""

    source: str

    def columns(self) -> list[str]:
        """Return the names of the columns of `obs`."""

    def column(self, name: str) -> Any:
        """Return a column of `obs` as a pandas Series, without its index."""

    def keys(self, place: Place) -> list[str]:
        """Return the keys of `layers`, `obsm` or `varm`."""

    def var_names(self) -> list[str]:
        """Return the names of the genes."""

    def values(self, place: Place, key: str | None) -> Any:
        """Return an array, or something with its shape, dtype and slices of rows."""

    def check(self, values: Any, columns: int) -> None:
        """Raise an error if so many columns of `values` are too large."""


class CellsInMemory:
    """The parts of an AnnData object; arrays of a backed one stay in its file.

    Parameters
    ----------
    data : AnnData
        The cells.
    max_bytes : int or None
        The largest size that is accepted, as for readers.
    """

    def __init__(self, data: Any, max_bytes: int | None) -> None:
        self._data, self._max_bytes = data, max_bytes
        backed = data.isbacked and data.filename is not None
        self.source = str(data.filename) if backed else "AnnData"

    def columns(self) -> list[str]:
        """Return the names of the columns of `obs`."""
        return list(map(str, self._data.obs.columns))

    def column(self, name: str) -> Any:
        """Return a column of `obs` as a pandas Series, without its index."""
        return self._data.obs[name]

    def keys(self, place: Place) -> list[str]:
        """Return the keys of `layers`, `obsm` or `varm`."""
        return list(getattr(self._data, place))

    def var_names(self) -> list[str]:
        """Return the names of the genes."""
        return list(map(str, self._data.var_names))

    def values(self, place: Place, key: str | None) -> Any:
        """Return an array, or something with its shape, dtype and slices of rows."""
        return self._data.X if place == "X" else getattr(self._data, place)[key]

    def check(self, values: Any, columns: int) -> None:
        """Raise an error if values on disk, or sparse ones, are too large as an array."""
        if not isinstance(values, np.ndarray):
            itemsize = np.dtype(values.dtype).itemsize
            check_size(self.source, values.shape[0] * columns * itemsize, self._max_bytes)


class CellsOnDisk:
    """The parts of an .h5ad file, each read when it is asked for.

    Parameters
    ----------
    anndata : module
        The package anndata.
    file : h5py.File
        An open file whose `obs` is a group, as anndata has written it since version 0.7.
    path : Path
        Its path, for messages.
    max_bytes : int or None
        The largest size that is accepted, as for readers.
    """

    def __init__(self, anndata: Any, file: Any, path: Path, max_bytes: int | None) -> None:
        self._anndata, self._file, self._path = anndata, file, path
        self.source, self._max_bytes = str(path), max_bytes
        self._obs: Any = None
        with readable(path):
            order = file["obs"].attrs.get("column-order")
            # before version 0.2.0 of the encoding, a column could not be read by itself
            whole = order is None or file["obs"].attrs.get("encoding-version") != "0.2.0"
        if whole:
            self._obs = self._read(file["obs"])
            order = self._obs.columns
        self._columns = [str(name) for name in order]

    def columns(self) -> list[str]:
        """Return the names of the columns of `obs`."""
        return self._columns

    def column(self, name: str) -> Any:
        """Return a column of `obs` as a pandas Series, without its index."""
        import pandas

        if self._obs is not None:
            return self._obs[name]
        return pandas.Series(self._read(self._file["obs"][name]))

    def keys(self, place: Place) -> list[str]:
        """Return the keys of `layers`, `obsm` or `varm`."""
        with readable(self._path):
            return list(self._file.get(place, ()))

    def var_names(self) -> list[str]:
        """Return the names of the genes."""
        var = self._file["var"]
        index = var.attrs.get("_index", "_index")
        if index in var:
            return list(map(str, self._read(var[index])))
        return list(map(str, self._read(var).index))

    def values(self, place: Place, key: str | None) -> Any:
        """Return an array, or something with its shape, dtype and slices of rows."""
        name = "X" if place == "X" else f"{place}/{key}"
        with readable(self._path):
            if name not in self._file:
                return None
            element = self._file[name]
            if hasattr(element, "dtype"):
                return _Dataset(element, self._path)
            if "data" in element and "indptr" in element:
                return _Dataset(self._anndata.io.sparse_dataset(element), self._path)
        return self._read(element)  # a data frame

    def check(self, values: Any, columns: int) -> None:
        """Raise an error if an array is too large, before it is read."""
        itemsize = np.dtype(getattr(values, "dtype", np.float64)).itemsize
        check_size(self._path, values.shape[0] * columns * itemsize, self._max_bytes)

    def _read(self, element: Any) -> Any:
        """Return a part of the file, if it is not too large."""
        with readable(self._path):
            declared = _declared_bytes(element)
        check_size(self._path, declared, self._max_bytes)
        with readable(self._path):
            return self._anndata.io.read_elem(element)


class _Dataset:
    """An array on disk; errors in reading it name the file."""

    def __init__(self, values: Any, path: Path) -> None:
        self._values, self._path = values, path
        self.shape, self.dtype = tuple(map(int, values.shape)), np.dtype(values.dtype)
        self.format = getattr(values, "format", None)

    def __getitem__(self, rows: Any) -> Any:
        with readable(self._path):
            return self._values[rows]

    def to_memory(self) -> Any:
        with readable(self._path):
            return self._values.to_memory()


class ChosenColumns:
    """Some columns of an array, and columns of `obs` beside them, as one array of numbers.

    Parameters
    ----------
    values : array-like, shape (N, D), or None
        Anything with `shape`, `dtype` and slices of rows; None if all columns are those of `obs`.
    columns : sequence of int or None
        For each result column the column of `values`; None if it is the next one of `beside`.
    beside : sequence of ndarray, each of shape (N,)
        Columns of `obs`.
    """

    def __init__(
        self, values: Any, columns: Sequence[int | None], beside: Sequence[np.ndarray]
    ) -> None:
        self._values, self._beside = values, beside
        self._places = np.flatnonzero([column is not None for column in columns])
        self._others = np.flatnonzero([column is None for column in columns])
        self._columns = [column for column in columns if column is not None]
        count = len(beside[0]) if values is None else values.shape[0]
        self.shape = (count, len(columns))
        self.width = 0 if values is None else values.shape[1]
        own = [] if values is None else [np.dtype(values.dtype)]
        kinds = {*own, *(column.dtype for column in beside)}
        self.dtype = np.dtype(np.float32 if kinds == {np.dtype(np.float32)} else np.float64)

    def __getitem__(self, rows: slice) -> np.ndarray:
        count = len(range(*rows.indices(self.shape[0])))
        result = np.empty((count, self.shape[1]), dtype=self.dtype)
        if self._values is not None:
            block = self._values[rows][:, self._columns]
            result[:, self._places] = block.toarray() if hasattr(block, "toarray") else block
        for place, column in zip(self._others, self._beside, strict=True):
            result[:, place] = column[rows]
        return result


def by_rows(values: Any) -> Any:
    """Return values of which slices of rows can be read quickly: a CSC matrix as CSR, in memory."""
    if getattr(values, "format", None) == "csc":
        values = values.to_memory() if hasattr(values, "to_memory") else values
        return values.tocsr()
    return values


def is_old_file(path: Path) -> bool:
    """Whether a file was written by anndata before version 0.7, with tables instead of groups."""
    with opened(path) as file, readable(path):
        return not hasattr(file["obs"], "keys")


def declared_bytes(path: Path) -> int:
    """Return the size of all arrays of a file, sparse matrices as dense ones."""
    with opened(path) as file, readable(path):
        return _declared_bytes(file)


def _declared_bytes(element: Any) -> int:
    """Return the size of the arrays in a part of an .h5ad file, sparse matrices as dense ones."""
    if hasattr(element, "dtype"):
        return math.prod(element.shape or ()) * int(element.dtype.itemsize)
    shape = element.attrs.get("shape", element.attrs.get("h5sparse_shape"))
    if shape is not None and "data" in element:
        return math.prod(map(int, shape)) * int(element["data"].dtype.itemsize)
    return sum(_declared_bytes(part) for part in element.values())


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open an .h5ad file for a block."""
    import h5py

    with readable(path):
        file = h5py.File(path, "r")
    with file:
        yield file


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Run a block that reads a file; its errors are those of the content, and name the file."""
    try:
        yield
    except Exception as error:  # whatever a bad byte leads to
        raise ValueError(f"{str(path)!r} cannot be read as .h5ad: {error}") from None

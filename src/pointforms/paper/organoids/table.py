"""The table of cells, read in blocks: parquet, Feather or CSV, checked against the schema."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pointforms.paper.organoids.raw_counts import RawCountCheck, check_values
from pointforms.paper.organoids.schema import schema
from pointforms.support.extras import need

_FORMATS = {".parquet": "parquet", ".feather": "feather", ".arrow": "feather", ".csv": "csv"}
# Rows per block: 54 columns of them take some 30 MB.
_ROWS = 1 << 16
# Bytes of each column of a parquet file that are read at a time.
_BUFFER = 1 << 16


@dataclass(frozen=True)
class CellBlock:
    """Consecutive rows of the table.

    Attributes
    ----------
    first : int
        Number of the first row in the table.
    metadata : dict of str to tuple
        By column, codes (m,) and values: row i has values[codes[i]].
    markers : (m, M) array
        Raw counts.
    """

    first: int
    metadata: dict[str, tuple[np.ndarray, list[str]]]
    markers: np.ndarray

    def __len__(self) -> int:
        return len(self.markers)


class CellTable:
    """A table on disk that has the columns of the schema.

    Parameters
    ----------
    path : path-like
        A .parquet, .feather, .arrow or .csv file.
    markers : sequence of str, optional
        The markers to read (default: the 44 that every row has).
    """

    def __init__(self, path: str | os.PathLike[str], markers: Sequence[str] | None = None) -> None:
        need("pyarrow", "table")
        self.path = Path(path)
        self.markers = tuple(markers if markers is not None else schema().markers)
        kind = _FORMATS.get(self.path.suffix.lower())
        if kind is None:
            raise ValueError(
                f"{os.fspath(path)!r}: expected a table that ends in {', '.join(_FORMATS)}; `npf "
                "pdo convert` converts the publisher's Metadata_PDO_CAF_screening.zip"
            )
        if not self.path.is_file():
            raise FileNotFoundError(f"no table {os.fspath(path)!r}")
        self._kind, self._data = kind, self._open(kind)
        check_columns(self._data.schema, self.markers, os.fspath(path))

    def _open(self, kind: str) -> Any:
        import pyarrow as pa
        from pyarrow import dataset

        known = schema()
        options: Any = kind
        if kind == "csv":
            from pyarrow import csv

            types = {name: pa.string() for name in known.metadata}
            types |= {name: pa.float64() for name in (*known.markers, known.optional)}
            options = dataset.CsvFileFormat(
                convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=False)
            )
        try:
            return dataset.dataset(self.path, format=options)
        except (pa.ArrowInvalid, OSError) as error:
            raise ValueError(f"{self.path.name} is not a {kind} table: {error}") from None

    def rows(self) -> int:
        """Return the number of rows; 0 for CSV files, which have to be read to know."""
        return 0 if self._kind == "csv" else int(self._data.count_rows())

    def blocks(self) -> Iterator[CellBlock]:
        """Return the rows in order, one block at a time.

        Raises an error at values that the published table does not have, and at markers that are
        not raw counts.
        """
        import pyarrow as pa

        first, counts = 0, RawCountCheck(self.markers)
        try:
            for batch in self._batches([*schema().metadata, *self.markers]):
                if batch.num_rows:
                    block = _block(batch, first, self.markers)
                    check_values(block.metadata, first)
                    counts.add(block.markers, first)
                    yield block
                    first += batch.num_rows
            counts.finish()
        except (pa.ArrowInvalid, OSError) as error:
            raise ValueError(
                f"{self.path.name} breaks off or is damaged after row {first}: {error}"
            ) from None

    def _batches(self, columns: list[str]) -> Iterator[Any]:
        """Return record batches of some columns, with little of the file in memory at a time.

        A scanner of Arrow reads ahead in the file, as far as its threads get before the batches
        are used; the readers here decode a batch when it is asked for.
        """
        import pyarrow as pa
        from pyarrow import parquet

        if self._kind == "feather":
            with pa.OSFile(os.fspath(self.path)) as file, pa.ipc.open_file(file) as reader:
                for i in range(reader.num_record_batches):
                    batch = reader.get_batch(i).select(columns)
                    for start in range(0, batch.num_rows, _ROWS):
                        yield batch.slice(start, _ROWS)
        elif self._kind == "parquet":
            with parquet.ParquetFile(self.path, buffer_size=_BUFFER, pre_buffer=False) as file:
                yield from file.iter_batches(batch_size=_ROWS, columns=columns)
        else:
            scanner = self._data.scanner(
                columns=columns, batch_size=_ROWS, batch_readahead=2, fragment_readahead=1
            )
            yield from scanner.to_batches()


def check_columns(columns: Any, markers: Sequence[str], label: str) -> None:
    """Raise an error that lists all missing and wrong columns, if there are any.

    Parameters
    ----------
    columns : pyarrow.Schema
    markers : sequence of str
        The markers that are needed.
    label : str
        Name of the table in messages.
    """
    from pyarrow import types

    known = schema()
    numbers = (types.is_floating, types.is_integer)
    texts = (types.is_string, types.is_large_string, types.is_string_view, types.is_dictionary)
    wrong = []
    for names, kinds, expected in (
        (known.metadata, (*texts, types.is_integer), "text or whole numbers"),
        (markers, numbers, "numbers"),
    ):
        for name in names:
            if name not in columns.names:
                wrong.append(f"missing: {name}")
            elif not any(is_kind(columns.field(name).type) for is_kind in kinds):
                kind = columns.field(name).type
                wrong.append(f"wrong type: {name} is {kind}, expected {expected}")
    if wrong:
        extra = [name for name in columns.names if name not in known.columns]
        listed = "; ".join(wrong[:12]) + (f"; and {len(wrong) - 12} more" * (len(wrong) > 12))
        also = f" (extra columns: {', '.join(extra[:8])})" if extra else ""
        raise ValueError(f"{label} is not the organoid table: {listed}{also}")


def _block(batch: Any, first: int, markers: Sequence[str]) -> CellBlock:
    import pyarrow as pa
    import pyarrow.compute as pc

    metadata = {}
    for name in schema().metadata:
        column = batch.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        # everything becomes text: one date of the published table is a number
        encoded = pc.dictionary_encode(pc.cast(column, pa.string()), null_encoding="encode")
        values = ["" if v is None else v for v in encoded.dictionary.to_pylist()]
        metadata[name] = (encoded.indices.to_numpy(zero_copy_only=False), values)
    numbers = np.empty((batch.num_rows, len(markers)))
    for i, name in enumerate(markers):
        numbers[:, i] = batch.column(name).to_numpy(zero_copy_only=False)
    return CellBlock(first, metadata, numbers)

"""Read the table of a pandas pickle, without pandas and with little of it in memory.

The published pickle was written by pandas 1: it names classes that later versions lack, and its
numbers alone take 9 GB. Here, names in a pickle are looked up in a short list of stand-ins, so that
no other code can run; large arrays go to a scratch file while they are read; and text becomes
codes.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, ClassVar, NamedTuple

import numpy as np

# Bytes of an array from which on it goes to the scratch file, and bytes that are copied at once.
_LARGE = 1 << 20


class ScratchBytes(NamedTuple):
    """Where the bytes of a large array are in the scratch file."""

    file: BinaryIO
    offset: int


class PickledArray:
    """Stand-in for a NumPy array, of numbers or of Python objects.

    Attributes
    ----------
    shape : tuple of int
    items : list
        The values of an array of objects with one axis, such as the names of columns.
    texts : list of (codes, values)
        The rows of an array of objects with two axes: entry i of a row is values[codes[i]].
    """

    shape: tuple[int, ...] = ()

    def __init__(self, content: Any = b"", dtype: Any = None, shape: Any = (), order: str = "C"):
        self.items: list[Any] = []
        self.texts: list[tuple[np.ndarray, list[str]]] = []
        self._content, self._dtype, self._order = content, dtype, order
        self.shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, fortran, content = state
        self.__init__(content, dtype, shape, "F" if fortran else "C")  # type: ignore[misc]
        if isinstance(content, list):
            self._content = b""
            if len(self.shape) == 2:
                self.texts = [_encode(row) for row in _rows(content, self.shape, self._order)]
                content.clear()  # the unpickler keeps the list, and with it a pointer per value
            else:
                self.items = content

    def numbers(self) -> np.ndarray:
        """Return the array; what was large is mapped from the scratch file."""
        if not isinstance(self._dtype, np.dtype) or self._dtype.kind not in "biuf":
            raise ValueError(f"an array has values of type {self._dtype}: expected numbers")
        if isinstance(self._content, ScratchBytes):
            file, offset = self._content
            order: Any = self._order
            return np.memmap(file, self._dtype, "r", offset, self.shape, order=order)
        flat = np.frombuffer(self._content, self._dtype)
        return flat.reshape(self.shape, order="F" if self._order == "F" else "C")


def _rows(items: list[Any], shape: tuple[int, ...], order: str) -> Iterator[list[Any]]:
    count, length = shape
    if len(items) != count * length:
        raise ValueError(f"an array of shape {shape} has {len(items)} values")
    for i in range(count):
        yield items[i * length : (i + 1) * length] if order == "C" else items[i::count]


def _encode(items: list[Any]) -> tuple[np.ndarray, list[str]]:
    """Return codes and values, as text: one date of the published table is a number."""
    known: dict[Any, int] = {}
    codes = (known.setdefault(item, len(known)) for item in items)
    return np.fromiter(codes, np.int32, len(items)), [str(item) for item in known]


class PickledIndex:
    """Stand-in for the labels of rows or columns."""

    def __init__(self, kind: Any = None, content: Any = None) -> None:
        self.items = (
            content["data"].items if isinstance(content, dict) and "data" in content else []
        )


class PickledBlock:
    """Stand-in for columns of one type: values (columns, rows), and their places in the table."""

    def __init__(self, values: Any, placement: Any, ndim: int = 2) -> None:
        if not isinstance(values, PickledArray) or len(values.shape) != 2:
            raise ValueError(f"a block of columns is a {type(values).__name__}, not a plain array")
        self.values, self._placement = values, placement

    def places(self, columns: int) -> list[int]:
        """Return the places of the block's columns in a table of `columns` columns."""
        if isinstance(self._placement, slice):
            return list(range(*self._placement.indices(columns)))
        return [int(place) for place in self._placement.numbers()]


class PickledManager:
    """Stand-in for the blocks of a table, as pandas before and since 1.3 writes them."""

    def __init__(self, blocks: Any = (), axes: Any = ()) -> None:
        self.blocks, self.axes = list(blocks), list(axes)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        content = state[3]["0.14.1"]
        self.axes = list(content["axes"])
        self.blocks = [PickledBlock(b["values"], b["mgr_locs"]) for b in content["blocks"]]


class PickledFrame:
    """Stand-in for a DataFrame.

    Attributes
    ----------
    columns : list of str
        Names of the columns.
    blocks : list of PickledBlock
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        manager = state.get("_mgr", state.get("_data"))
        if not isinstance(manager, PickledManager):
            raise ValueError("the table has no blocks of columns")
        self.columns = [str(name) for name in manager.axes[0].items]
        self.blocks: list[PickledBlock] = manager.blocks
        placed = sorted(place for block in self.blocks for place in block.places(len(self.columns)))
        if (
            placed != list(range(len(self.columns)))
            or len({b.values.shape[1] for b in self.blocks}) != 1
        ):
            raise ValueError(f"the blocks do not fill the {len(self.columns)} columns")

    def __len__(self) -> int:
        return self.blocks[0].values.shape[1]

    def parts(self, rows: int) -> Iterator[dict[str, Any]]:
        """Return columns of consecutive rows: arrays of numbers, or pairs of codes and values."""
        for start in range(0, len(self), rows):
            end = min(start + rows, len(self))
            part: dict[str, Any] = {}
            for block in self.blocks:
                names = [self.columns[place] for place in block.places(len(self.columns))]
                texts = block.values.texts
                if texts:
                    part |= {n: (c[start:end], v) for n, (c, v) in zip(names, texts, strict=True)}
                else:
                    numbers = block.values.numbers()[:, start:end]
                    part |= {n: np.array(row) for n, row in zip(names, numbers, strict=True)}
            yield {name: part[name] for name in self.columns}


def _array(content: Any, dtype: Any, shape: Any, order: str) -> PickledArray:
    return PickledArray(content, dtype, shape, order)


def _empty_array(kind: Any, shape: Any, typecode: Any) -> PickledArray:
    return PickledArray()


def _scalar(dtype: Any, content: bytes) -> Any:
    return np.frombuffer(content, dtype)[0].item()


#: Everything that a table may refer to, by the name in the pickle.
_NAMES: dict[str, Any] = {
    "builtins.slice": slice,
    "numpy.dtype": np.dtype,
    "numpy.ndarray": PickledArray,
    "pandas.core.frame.DataFrame": PickledFrame,
    "pandas.core.internals.managers.BlockManager": PickledManager,
    "pandas.core.internals.blocks.new_block": PickledBlock,
    "pandas._libs.internals._unpickle_block": PickledBlock,
    "pandas.core.indexes.base._new_Index": PickledIndex,
    "pandas.core.indexes.base.Index": PickledIndex,
    "pandas.core.indexes.numeric.Int64Index": PickledIndex,
    "pandas.core.indexes.range.RangeIndex": PickledIndex,
}
for _package in ("numpy.core", "numpy._core"):
    _NAMES[f"{_package}.multiarray._reconstruct"] = _empty_array
    _NAMES[f"{_package}.multiarray.scalar"] = _scalar
    _NAMES[f"{_package}.numeric._frombuffer"] = _array


class _Memo(list[Any]):
    """The unpickler's memory of objects, with 8 bytes per object instead of a hundred."""

    def __setitem__(self, place: Any, value: Any) -> None:
        if place == len(self):
            self.append(value)
        else:
            super().__setitem__(place, value)


class _Unpickler(pickle._Unpickler):
    """The unpickler written in Python: that in C would keep all arrays in memory."""

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)
    read: Callable[[int], bytes]
    append: Callable[[Any], None]

    def __init__(self, file: BinaryIO, scratch: BinaryIO) -> None:
        super().__init__(file)
        self.memo: Any = _Memo()
        self.scratch = scratch

    def find_class(self, module: str, name: str) -> Any:
        known = _NAMES.get(f"{module}.{name}")
        if known is None:
            raise ValueError(f"it refers to {module}.{name}, which a table of cells does not need")
        return known

    def _load_bytes(self, size: int, make: Callable[[bytes], Any]) -> None:
        if size < _LARGE:
            self.append(make(self.read(size)))
            return
        offset = self.scratch.seek(0, os.SEEK_END)
        while size:
            chunk = self.read(min(size, _LARGE))
            if not chunk:
                raise EOFError
            self.scratch.write(chunk)
            size -= len(chunk)
        self.scratch.flush()
        self.append(ScratchBytes(self.scratch, offset))

    def load_binbytes(self) -> None:
        self._load_bytes(struct.unpack("<I", self.read(4))[0], bytes)

    def load_binbytes8(self) -> None:
        self._load_bytes(struct.unpack("<Q", self.read(8))[0], bytes)

    def load_bytearray8(self) -> None:
        self._load_bytes(struct.unpack("<Q", self.read(8))[0], bytearray)

    def load_short_binunicode(self) -> None:
        # a column may repeat a text as millions of objects: keep one
        self.append(sys.intern(str(self.read(self.read(1)[0]), "utf-8", "surrogatepass")))

    def load_binunicode(self) -> None:
        size = struct.unpack("<I", self.read(4))[0]
        self.append(sys.intern(str(self.read(size), "utf-8", "surrogatepass")))

    dispatch |= {
        pickle.BINBYTES[0]: load_binbytes,
        pickle.BINBYTES8[0]: load_binbytes8,
        pickle.BYTEARRAY8[0]: load_bytearray8,
        pickle.SHORT_BINUNICODE[0]: load_short_binunicode,
        pickle.BINUNICODE[0]: load_binunicode,
    }


class _Counted(io.RawIOBase):
    """A stream that reports how many bytes are read, and is never asked for many at once."""

    def __init__(self, source: Any, advance: Callable[[int], None]) -> None:
        self._source, self._advance = source, advance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._source.read(min(len(buffer), _LARGE))
        buffer[: len(chunk)] = chunk
        self._advance(len(chunk))
        return len(chunk)


def read_frame(
    source: Any, scratch: BinaryIO, advance: Callable[[int], None] = lambda size: None
) -> PickledFrame:
    """Return the table of a pickle; the scratch file has to stay open while it is used.

    Parameters
    ----------
    source : binary file
        The pickle, read from start to end.
    scratch : binary file
        Takes the bytes of large arrays.
    advance : callable, optional
        Called with the number of bytes whenever some are read.
    """
    stream: Any = io.BufferedReader(_Counted(source, advance), _LARGE)
    if stream.peek(1)[:1] not in (b"", pickle.PROTO):  # pandas never used older protocols
        raise ValueError("it is not a pickle")
    try:
        frame = _Unpickler(stream, scratch).load()
    except (OSError, MemoryError):
        raise
    except EOFError:
        raise ValueError("it breaks off") from None
    except ValueError as error:
        raise ValueError(str(error)) from error
    except Exception as error:  # a damaged pickle can raise anything
        reason = str(error) or type(error).__name__
        raise ValueError(f"it is damaged ({reason})") from error
    if not isinstance(frame, PickledFrame):
        raise ValueError(f"it holds a {type(frame).__name__}")
    return frame

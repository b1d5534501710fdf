"""Numbers in a temporary file that has no name, for what is too large for memory."""

from __future__ import annotations

import errno
import mmap
import shutil
import tempfile
from typing import Any

import numpy as np
import torch
from torch import Tensor


class ScratchNumbers:
    """Numbers of one kind in a temporary file, which are appended first and read afterwards.

    The file is in the folder of temporary files, where nobody else sees it, and it is gone when
    this object or its process is, however that ends. What is read is mapped into memory and counts
    as memory of the process until :meth:`release`.

    Parameters
    ----------
    dtype : torch.dtype
        Precision of the numbers.
    expected : int, default 0
        How many there will be, about: an error is raised at once if they do not fit on the disk.

    Examples
    --------
    >>> numbers = ScratchNumbers(torch.float64)
    >>> numbers.append(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    0
    >>> numbers.append(torch.tensor([5.0]))
    4
    >>> numbers.read(3, 2)
    tensor([4., 5.], dtype=torch.float64)
    """

    def __init__(self, dtype: torch.dtype, expected: int = 0) -> None:
        self._dtype, self._count = dtype, 0
        self._map: mmap.mmap | None = None
        size = expected * dtype.itemsize
        try:
            folder = tempfile.gettempdir()
            # closed with self; without a buffer, which could not be emptied on a full disk
            self._file: Any = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
            free = shutil.disk_usage(folder).free
        except OSError as error:
            raise _cannot_write(error, size) from error
        if free < size:
            self._file.close()
            raise _cannot_write(OSError(errno.ENOSPC, f"{free / 1e9:.1f} GB are free"), size)

    def append(self, values: Tensor) -> int:
        """Write numbers at the end, in order, and return the position of the first."""
        content = values.detach().to("cpu", self._dtype).contiguous().flatten().numpy()
        self._map = None
        start = self._count
        try:
            self._file.seek(start * self._dtype.itemsize)
            left = memoryview(content.view(np.uint8).data)
            while len(left):
                left = left[self._file.write(left) :]
        except OSError as error:
            raise _cannot_write(error, (start + content.size) * self._dtype.itemsize) from error
        self._count += content.size
        return start

    def read(self, start: int, count: int) -> Tensor:
        """Return numbers from a position on: (count,), in the file itself; copy them to change."""
        if self._map is None:
            self._map = mmap.mmap(self._file.fileno(), self._count * self._dtype.itemsize)
        offset = start * self._dtype.itemsize
        return torch.frombuffer(self._map, dtype=self._dtype, count=count, offset=offset)

    def release(self) -> None:
        """Let go of the memory of everything that was read; it can be read again."""
        if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):  # on Windows it does not exist
            self._map.madvise(mmap.MADV_DONTNEED)

    def __getstate__(self) -> dict[str, Any]:
        values = np.asarray(self.read(0, self._count)) if self._count else None
        return {"dtype": self._dtype, "values": values}

    def __setstate__(self, state: dict[str, Any]) -> None:
        values = state["values"]
        self.__init__(state["dtype"], 0 if values is None else values.size)  # type: ignore[misc]
        if values is not None:
            self.append(torch.from_numpy(values))


def _cannot_write(error: OSError, size: int) -> OSError:
    """Return an error that says what was to be written where."""
    folder = tempfile.tempdir or "the folder of temporary files"
    return OSError(
        error.errno,
        f"a temporary file of {size / 1e9:.1f} GB cannot be written to {folder} "
        f"({error.strerror}): set the environment variable TMPDIR to a folder with more room, "
        "before Python starts",
    )

"""The largest amount of data that a reader loads from a file."""

from __future__ import annotations

import os

from pointforms.support.checks import check_int
from pointforms.support.formatting import binary_size

#: What the arrays of one file may occupy, in bytes, unless the caller says otherwise.
MAX_BYTES = 8 << 30
#: The environment variable that replaces it, also for the command line and its workers.
VARIABLE = "POINTFORMS_MAX_BYTES"


def check_size(source: str | os.PathLike[str], declared: int, max_bytes: int | None) -> None:
    """Raise an error if arrays are too large to be loaded, before memory is allocated for them.

    Parameters
    ----------
    source : path-like
        The file, for the message.
    declared : int
        Number of bytes that its arrays would occupy, by their shapes and types.
    max_bytes : int or None
        The largest number that is accepted. None stands for the environment variable
        POINTFORMS_MAX_BYTES, or for 8 GiB.

    Examples
    --------
    >>> check_size("cells.npz", 2**20, max_bytes=2**10)
    Traceback (most recent call last):
    ValueError: 'cells.npz' declares arrays of 1.00 MiB, more than max_bytes=1024 (1.00 KiB): \
pass a larger max_bytes, or set POINTFORMS_MAX_BYTES, if you trust the file
    """
    limit = _default() if max_bytes is None else max_bytes
    check_int("max_bytes", limit, at_least=0)
    if declared > limit:
        raise ValueError(
            f"{os.fspath(source)!r} declares arrays of {binary_size(declared)}, more than "
            f"max_bytes={limit} ({binary_size(limit)}): pass a larger max_bytes, or set "
            f"{VARIABLE}, if you trust the file"
        )


def _default() -> int:
    text = os.environ.get(VARIABLE, "")
    if not text.strip():
        return MAX_BYTES
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{VARIABLE}={text!r}: expected a number of bytes") from None

"""The file of a saved estimator: safetensors, with values and a checksum in its header.

Nothing in a file is trusted. Its header says how large it must be, and its checksum what it must
contain, before any tensor is made.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any, BinaryIO

from safetensors import torch as safetensors

from pointforms.estimators.saved_state import SavedState

#: The format that is written, and the newest that is read.
FORMAT = 2
# Keys of the header: the configuration, and a checksum of the file with zeros in its place.
_CONFIG, _CHECKSUM = "pointforms", "sha256"
_NO_CHECKSUM = "0" * 64
_LARGEST_HEADER = 16 << 20  # bytes, of which models need some thousand
# Most axes of a tensor.
_AXES = 8
# Bytes per number, by the names that safetensors has for types.
_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}


def written(state: SavedState) -> bytes:
    """Return an estimator as the content of its file."""
    tensors = {name: value.detach().cpu().contiguous() for name, value in state.tensors.items()}
    config = json.dumps({"format": FORMAT, **state.config})
    content: bytes = safetensors.save(tensors, {_CONFIG: config, _CHECKSUM: _NO_CHECKSUM})
    checksum = hashlib.sha256(content).hexdigest()
    return content.replace(_checksum_entry(_NO_CHECKSUM), _checksum_entry(checksum), 1)


def read(file: BinaryIO, size: int, old: Path | None = None) -> SavedState:
    """Return what a file says about an estimator.

    Parameters
    ----------
    file : binary file
        Its content.
    size : int
        Number of bytes in it.
    old : Path or None, default None
        Where the configuration is if the header has none, as in format 1.
    """
    length = int.from_bytes(file.read(8), "little")
    if length > min(size - 8, _LARGEST_HEADER):
        raise ValueError("the header of its weights is damaged, or longer than 16 MiB")
    header = _json_object(file.read(length), "the header of its weights")
    metadata = header.pop("__metadata__", {})
    config = _configuration(metadata, old)
    version = config.get("format")
    if type(version) is not int or not 1 <= version <= FORMAT:
        raise ValueError(
            f"it has format {version!r}, this version reads up to {FORMAT}: update pointforms"
        )
    if 8 + length + sum(_bytes(name, entry) for name, entry in header.items()) != size:
        raise ValueError(f"its weights are damaged: {size} bytes do not fit the header")
    file.seek(0)
    content = file.read()
    if _CONFIG in metadata:
        given = str(metadata.get(_CHECKSUM))
        blank = content[: 8 + length].replace(
            _checksum_entry(given), _checksum_entry(_NO_CHECKSUM), 1
        )
        found = hashlib.sha256(blank)
        found.update(memoryview(content)[8 + length :])
        if found.hexdigest() != given:
            raise ValueError("it is damaged: its checksum does not match")
    return SavedState(config, safetensors.load(content))


def is_model(path: Path) -> bool:
    """Return whether a file looks like one that :func:`written` made, damaged or not."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, _LARGEST_HEADER)))
        return _CONFIG in header["__metadata__"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _configuration(metadata: Any, old: Path | None) -> dict[str, Any]:
    if isinstance(metadata, dict) and _CONFIG in metadata:
        return _json_object(str(metadata[_CONFIG]).encode(), "its configuration")
    if old is None or not old.is_file():
        raise ValueError("its weights are not those of a saved estimator")
    if old.stat().st_size > _LARGEST_HEADER:
        raise ValueError("its configuration is damaged")
    return _json_object(old.read_bytes(), "its configuration")


def _bytes(name: str, entry: Any) -> int:
    """Return the number of bytes of a tensor by its entry in the header."""
    kind, shape = (
        (entry.get("dtype"), entry.get("shape")) if isinstance(entry, dict) else (None,) * 2
    )
    if not isinstance(kind, str) or kind not in _BYTES:
        raise ValueError(f"the header of its weights is damaged: {name!r} has the type {kind!r}")
    if (
        not isinstance(shape, list)
        or len(shape) > _AXES
        or not all(type(axis) is int and axis >= 0 for axis in shape)
    ):
        raise ValueError(f"the header of its weights is damaged: {name!r} has no shape")
    return _BYTES[kind] * math.prod(shape)


def _checksum_entry(value: str) -> bytes:
    # inside the configuration the quotes are escaped, so this occurs once
    return f'"{_CHECKSUM}":"{value}"'.encode()


def _json_object(text: bytes, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} is damaged: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{what} is damaged: it is no object")
    return value

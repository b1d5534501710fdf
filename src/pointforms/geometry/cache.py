"""Gram fields on disk, keyed by the content of a cloud and the settings.

One file a cloud, in safetensors format (tensors and text, no code). A file appears under its name
only when it is whole, so two processes may share a folder: both may compute a field, neither can
read half of one. A file that does not match its checksum is computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from pointforms.geometry.field import GramField
from pointforms.geometry.settings import GramSettings

# Part of every key: raise it whenever the same settings would give other numbers.
_FORMAT = 1
_TENSORS = ("factor", "log_density", "scale", "discarded_trace")
_NUMBERS = ("dimension", "bandwidth", "neighbors")
_DIGEST_BYTES = 32
# Unfinished files older than this belong to a process that was killed.
_ABANDONED_SECONDS = 24 * 3600


class FieldCache:
    """A folder of Gram fields."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise ValueError(
                f"cache={str(folder)!r}: a file is in the way of that folder"
            ) from None
        for partial in folder.glob("*/.partial-*"):
            _remove_if_abandoned(partial)

    def load(self, cloud: Tensor, settings: GramSettings) -> GramField | None:
        """The stored field, or None where there is none that can be trusted."""
        try:
            content = self._path(cloud, settings).read_bytes()
        except OSError:
            return None
        body, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
        if _digest(body) != digest:
            return None
        try:
            tensors = load(body)
            numbers = json.loads(bytes(tensors.pop("numbers").tolist()))
            parts: dict[str, Any] = {name: tensors[name].to(cloud.device) for name in _TENSORS}
            parts |= {name: numbers[name] for name in _NUMBERS}
            return GramField(points=cloud, settings=settings, **parts)
        except (SafetensorError, KeyError, ValueError):  # whole, but not ours
            return None

    def save(self, cloud: Tensor, settings: GramSettings, field: GramField) -> None:
        """Store a field under its key, whole or not at all."""
        numbers = json.dumps({name: getattr(field, name) for name in _NUMBERS}).encode()
        body = save(
            {
                **{name: getattr(field, name).cpu().contiguous() for name in _TENSORS},
                "numbers": torch.tensor(list(numbers), dtype=torch.uint8),
            }
        )
        path = self._path(cloud, settings)
        path.parent.mkdir(exist_ok=True)
        partial = path.parent / f".partial-{uuid.uuid4().hex}"
        try:
            with partial.open("wb") as file:
                file.write(body)
                file.write(_digest(body))
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)

    def _path(self, cloud: Tensor, settings: GramSettings) -> Path:
        described = {"format": _FORMAT, "dtype": str(cloud.dtype), "shape": list(cloud.shape)}
        described |= asdict(settings)
        key = hashlib.blake2b(json.dumps(described, sort_keys=True).encode(), digest_size=20)
        key.update(cloud.detach().cpu().contiguous().numpy().tobytes())
        name = key.hexdigest()
        return self.folder / name[:2] / f"{name}.gram"


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()


def _remove_if_abandoned(partial: Path) -> None:
    try:
        if time.time() - partial.stat().st_mtime > _ABANDONED_SECONDS:
            partial.unlink()
    except OSError:  # finished or removed by its owner meanwhile
        pass

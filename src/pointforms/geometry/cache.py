"""Gram fields on disk, keyed by the content of a cloud, with its weights, and the settings.

There is one file per cloud, in safetensors format (tensors and text, no code). Files are written
atomically, so several processes can share a folder: two may compute the same field, but none reads
an unfinished file. A field whose file does not match its checksum is computed again.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from pointforms.geometry.field import GramField
from pointforms.geometry.settings import GramSettings
from pointforms.support.files import PARTIAL_PREFIX, atomic
from pointforms.weights import plain, relative_weights, weights_of

# Part of every key: raise it whenever the same settings would give different numbers.
_FORMAT = 4
_TENSORS = ("factor", "log_density", "scale", "discarded_trace")
_NUMBERS = ("dimension", "bandwidth", "neighbors")
_DIGEST_BYTES = 32
# Unfinished files that are older than this were left by a process that was killed,
_ABANDONED_SECONDS = 24 * 3600
# in this version or in 0.1.0.
_PARTIAL_PREFIXES = (PARTIAL_PREFIX, ".partial-")


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
        for prefix in _PARTIAL_PREFIXES:
            for partial in folder.glob(f"*/{prefix}*"):
                _remove_if_abandoned(partial)

    def load(self, cloud: Tensor, settings: GramSettings) -> GramField | None:
        """Return the stored field, or None if there is no intact file for it."""
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
            if "pairs" in tensors:
                parts["pairs"] = tensors["pairs"].to(cloud.device)
            return GramField(
                points=plain(cloud), settings=settings, weights=weights_of(cloud), **parts
            )
        except (SafetensorError, KeyError, ValueError):  # intact, but not a field
            return None

    def save(self, cloud: Tensor, settings: GramSettings, field: GramField) -> None:
        """Store a field under its key."""
        numbers = json.dumps({name: getattr(field, name) for name in _NUMBERS}).encode()
        kept = _TENSORS if field.pairs is None else (*_TENSORS, "pairs")
        body = save(
            {
                **{name: getattr(field, name).cpu().contiguous() for name in kept},
                "numbers": torch.tensor(list(numbers), dtype=torch.uint8),
            }
        )
        with atomic(self._path(cloud, settings)) as partial:
            partial.write_bytes(body + _digest(body))

    def _path(self, cloud: Tensor, settings: GramSettings) -> Path:
        described = {"format": _FORMAT, "dtype": str(cloud.dtype), "shape": list(cloud.shape)}
        described |= asdict(settings)
        key = hashlib.blake2b(json.dumps(described, sort_keys=True).encode(), digest_size=20)
        key.update(plain(cloud).detach().cpu().contiguous().numpy().tobytes())
        mass = relative_weights(cloud)
        if mass is not None:
            key.update(b"weights" + mass.cpu().contiguous().numpy().tobytes())
        name = key.hexdigest()
        return self.folder / name[:2] / f"{name}.gram"


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()


def _remove_if_abandoned(partial: Path) -> None:
    try:
        if time.time() - partial.stat().st_mtime > _ABANDONED_SECONDS:
            partial.unlink()
    except OSError:  # meanwhile finished or removed by the process that wrote it
        pass

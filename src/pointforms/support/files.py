"""Files that commands write: whole or not at all, and never over what they read."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_output(out: Path, *sources: Path) -> None:
    """Refuse, before any work, to write to a folder, or over what is read."""
    if out.is_dir():
        raise ValueError(f"{os.fspath(out)!r} is a folder: expected a file to write")
    for source in sources:
        if source.exists() and out.resolve() == source.resolve():
            raise ValueError(f"{os.fspath(out)!r} is read here: it would be overwritten")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A file beside the path to write to, which takes its place when all went well."""
    half = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield half
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write text so that the file appears whole or not at all; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as half:
        half.write_text(text, encoding="utf-8", newline="\n")

from __future__ import annotations

import pytest

from pointforms.bench.manifest import Manifest, read_manifest


@pytest.fixture
def read(tmp_path):
    """Read a manifest from its text."""

    def read(text: str) -> Manifest:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return read_manifest(path)

    return read

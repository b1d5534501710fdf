from __future__ import annotations

import pytest
from tests.helpers.commands import MANIFEST, EngineInProcess, ok


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, and training without other processes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pointforms.bench.LocalEngine", EngineInProcess)
    return tmp_path


@pytest.fixture(scope="package")
def filled(tmp_path_factory):
    """A store with the fits of the manifest, which lies beside it."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "small.toml").write_text(MANIFEST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pointforms.bench.LocalEngine", EngineInProcess)
        ok("sweep", folder / "small.toml", "--store", folder / "results.db")
    return folder / "results.db"

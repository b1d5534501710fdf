"""`npf theory`."""

from __future__ import annotations

import pytest
from tests.helpers.commands import refused


def test_a_bad_folder_is_explained(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("not a folder")
    assert "npf theory:" in refused("theory", "--out", tmp_path / "file", "--quick")

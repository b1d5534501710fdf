"""`npf demo`."""

from __future__ import annotations

import pytest
from tests.helpers.commands import ok, refused


@pytest.mark.slow  # it trains and explains: more than a minute
def test_demo_prints_and_draws(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    printed = ok("demo", "--out", tmp_path / "out")
    assert "dimension (estimated)  2" in printed
    assert "AUROC" in printed
    for name in ("torus.png", "circles-vs-lines.png"):
        picture = tmp_path / "out" / name
        assert str(picture) in printed
        assert picture.read_bytes().startswith(b"\x89PNG")
    page = tmp_path / "out" / "report.html"
    assert str(page) in printed
    assert "NPF (selected, of 2)" in page.read_text("utf-8")


def test_demo_into_a_file_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    assert "npf demo:" in refused("demo", "--out", tmp_path / "file")

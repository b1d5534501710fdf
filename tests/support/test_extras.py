from __future__ import annotations

import sys

import pytest

from pointforms.support.extras import need


def test_a_missing_package_names_its_extra():
    with pytest.raises(ImportError, match=r'needs absent_package: pip install "pointforms\[ann\]"'):
        need("absent_package", "ann")


def test_an_error_inside_a_package_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import absent_dependency")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="absent_dependency"):
        need("broken_package", "ann")
    assert "broken_package" not in sys.modules

"""Every benchmark can be run by its name."""

from __future__ import annotations

from importlib import import_module

import pytest
from benchmarks.__main__ import _ALL, main


@pytest.mark.parametrize("name", _ALL)
def test_it_can_be_imported(name):
    assert callable(import_module(f"benchmarks.{name.replace('-', '_')}").main)


def test_an_unknown_name_is_refused(capsys):
    assert main(["sped"]) == 2
    assert "unknown benchmark 'sped': expected accuracy, " in capsys.readouterr().err

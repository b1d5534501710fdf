"""Every benchmark can be run by its name."""

from __future__ import annotations

from importlib import import_module

import pytest
from benchmarks.__main__ import _ALL, main
from benchmarks.readable import leaks
from benchmarks.tables import Results


@pytest.mark.parametrize("name", _ALL)
def test_it_can_be_imported(name):
    assert callable(import_module(f"benchmarks.{name.replace('-', '_')}").main)


def test_an_unknown_name_is_refused(capsys):
    assert main(["sped"]) == 2
    assert "unknown benchmark 'sped': expected accuracy, " in capsys.readouterr().err


def test_leaks_between_features_can_be_measured(capsys):
    results = Results("forms that can be read")
    leaks(results, seeds=1, clouds=16, epochs=2)
    results.print()
    out = capsys.readouterr().out
    assert out.count("others with p < 0.05") == 4
    assert out.count(" of 4") == 4

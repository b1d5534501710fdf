"""Numbers as text."""

import unicodedata

import pytest

from pointforms.support.formatting import duration, p_value, seconds, significance, visible
from pointforms.support.statistics import Difference


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "0 s"), (59, "59 s"), (90, "1.5 min"), (5400, "1.5 h"), (1e6, "11.6 d")],
)
def test_durations(seconds, said):
    assert duration(seconds) == said


def test_p_values_and_arrows():
    assert (p_value(0.0004), p_value(0.04)) == ("p < 0.001", "p = 0.040")
    assert significance(Difference(0.1, p=0.04)) == "0.040 ↑"
    assert significance(Difference(-0.1, p=0.04)) == "0.040 ↓"
    assert significance(Difference(0.1, p=0.05)) == "0.050"
    assert significance(Difference(0.1)) == ""


def test_seconds_have_two_digits():
    assert [seconds(value) for value in (0.01234, 1.26, 9.99, 83.4)] == ["0.012", "1.3", "10", "83"]


def test_nothing_visible_controls_a_terminal():
    every = "".join(map(chr, [*range(0x3000), 0x202E, 0x2066, 0xFEFF, 0xDC80, 0xE000]))
    shown = visible(every)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")]
    assert visible("tab\tline\n\x1b[2J", lines=True) == "tab\tline\n\\x1b[2J"
    assert visible("1\u202f000 µm → [red]") == "1\u202f000 µm → [red]"

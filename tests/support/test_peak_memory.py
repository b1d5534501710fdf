from __future__ import annotations

import numpy as np
import pytest

from pointforms.support.peak_memory import can_reset, memory, peak, reset_peak

MEGABYTE = 2**20


def test_the_peak_is_at_least_what_is_used():
    used = memory("VmRSS")
    assert used is None or 0 < used <= peak()
    assert memory("NoSuchFigure") is None


@pytest.mark.skipif(not can_reset(), reason="the system cannot reset the peak")
def test_the_peak_starts_anew():
    reset_peak()
    start = peak()
    assert np.ones(200 * MEGABYTE // 8).all()
    high = peak()
    assert high > start + 150 * MEGABYTE
    reset_peak()
    assert peak() < high - 100 * MEGABYTE

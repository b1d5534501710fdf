"""A sweep that is killed a hundred times loses nothing and changes no bit."""

from __future__ import annotations

import pytest
from tests.helpers.kills import Battery, kill_writers


@pytest.mark.fuzz
def test_killed_a_hundred_times_and_resumed_it_is_as_if_undisturbed(tmp_path):
    battery = Battery(tmp_path, seed=1)
    battery.run(kills=100)
    print(battery.report())  # shown with -s, and if a check fails
    assert battery.training >= 50


@pytest.mark.fuzz
def test_writers_killed_200_times_leave_whole_units(tmp_path):
    kill_writers(tmp_path / "results.db", kills=200)

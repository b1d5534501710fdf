"""`npf plan`."""

from __future__ import annotations

import pytest
from tests.helpers.commands import ok, refused


def test_plan_counts_rows_and_fits(filled):
    printed = ok("plan", "synthetic-primary")
    assert "336 rows, 8400 fits" in printed
    assert "with 2 workers" in printed
    manifest = filled.with_name("small.toml")
    assert "2 rows, 4 fits, of which 4 are left" in ok("plan", manifest, "--workers", "1")
    assert "4 fits, of which 0 are left" in ok("plan", manifest, "--store", filled)


@pytest.mark.usefixtures("folder")
def test_an_absent_store_is_explained():
    assert "no store 'absent.db'" in refused("plan", "synthetic", "--store", "absent.db")

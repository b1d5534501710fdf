"""Simulated tables that several tests read."""

from __future__ import annotations

import pytest

from pointforms.paper.organoids.prepare import prepare
from pointforms.paper.organoids.simulate import write_simulated


@pytest.fixture(scope="package")
def small(tmp_path_factory):
    """Some 14 000 simulated cells."""
    path = tmp_path_factory.mktemp("pdo") / "cells.parquet"
    write_simulated(path, cells=4, seed=0)
    return path


@pytest.fixture(scope="package")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("pdo") / "cells.parquet"
    write_simulated(path, cells=14, seed=1)
    return path


@pytest.fixture(scope="package")
def folder(table, tmp_path_factory):
    out = tmp_path_factory.mktemp("prepared")
    prepare(table, out)
    return out

"""Outlines of cells, from small files of the form of the published ones."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import pointforms as pf
from pointforms.tasks.osteosarcoma import resampled


@pytest.fixture
def cells(tmp_path, monkeypatch):
    """A package with 40 rectangles, the first of them twice, in place of the published cells."""
    folder = tmp_path / "geomstats" / "datasets" / "data" / "cells"
    folder.mkdir(parents=True)
    (tmp_path / "geomstats" / "__init__.py").write_text("raise AssertionError('imported')")
    blocks = []
    for i in [0, *range(39)]:
        corners = ((i, 5), (i + 4, 5), (i + 4, 5 + i + 1), (i, 5 + i + 1))
        blocks.append("\n".join(f"{x} {y}" for x, y in corners))
    (folder / "cells.txt").write_text("\n\n".join(blocks))
    (folder / "cell_lines.txt").write_text("\n".join(["dlm8", "dunn"][i % 2] for i in range(40)))
    words = ["control", "cytd", "jasp"]
    (folder / "treatments.txt").write_text("\n".join(words[i % 3] for i in range(40)))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "geomstats", raising=False)
    return folder


def test_outlines_are_centred_and_keep_their_size(cells):
    task = pf.tasks.load("osteosarcoma-line", points=64)
    assert (len(task), task.class_names) == (40, ("dlm8", "dunn"))
    np.testing.assert_array_equal(task.labels, np.arange(40) % 2)
    for i, cloud in zip([0, *range(39)], task.clouds, strict=True):
        np.testing.assert_allclose(cloud.mean(0), 0, atol=1e-12)
        width, height = np.ptp(cloud, axis=0)
        step = (4 + i + 1) * 2 / 64
        assert 4 - step <= width <= 4
        assert i + 1 - step <= height <= i + 1
    assert pf.tasks.load("osteosarcoma-treatment").class_names == ("control", "cytd", "jasp")


def test_equal_outlines_are_one_group(cells):
    task = pf.tasks.load("osteosarcoma-line")
    assert task.groups[0] == task.groups[1]
    assert len(set(task.groups.tolist())) == 39


def test_some_outlines_by_seed(cells):
    first, same, other = (pf.tasks.load("osteosarcoma-line", s, clouds=20) for s in (1, 1, 2))
    assert len(first) == 20
    np.testing.assert_array_equal(first.clouds[3], same.clouds[3])
    assert not np.array_equal(first.groups, other.groups)
    with pytest.raises(ValueError, match="clouds=41: expected at most 40, the outlines"):
        pf.tasks.load("osteosarcoma-line", clouds=41)


def test_points_are_at_equal_distances_along_a_curve(rng):
    """Of a circle with uneven corners, a regular polygon."""
    angles = np.sort(rng.uniform(0, 2 * np.pi, 3000))
    circle = 7 + np.stack([np.cos(angles), np.sin(angles)], 1)
    found = resampled(circle, 12)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=0.01)
    sides = np.linalg.norm(found - np.roll(found, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, 2 * np.sin(np.pi / 12), rtol=0.01)


def test_files_that_do_not_match_are_named(cells):
    (cells / "treatments.txt").write_text("control\n")
    with pytest.raises(ValueError, match="40 outlines and 1 treatments"):
        pf.tasks.load("osteosarcoma-treatment")


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("pointforms.support.extras.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r'needs geomstats: pip install "pointforms\[data\]"'):
        pf.tasks.load("osteosarcoma-line")

from __future__ import annotations

import pytest

from pointforms.bench.records import Size, titles
from pointforms.bench.task_names import tasks_called


@pytest.fixture
def sizes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    by_label = ('{"label":"dose"}', '{"label":"response"}')
    return [
        Size("colocated", clouds=60),
        Size("colocated"),
        *(
            Size(str(tmp_path / "data" / "cells.csv"), content="1f", reading=one)
            for one in by_label
        ),
        Size(str(tmp_path / "a" / "twice.csv"), content="2e"),
        Size(str(tmp_path / "b" / "twice.csv"), content="3d"),
    ]


def test_every_title_is_a_name(sizes):
    for size, title in titles(sizes).items():
        assert tasks_called(title, sizes) == [size]


def test_a_name_without_a_size_is_that_of_the_full_task(sizes):
    assert tasks_called("colocated", sizes) == [sizes[1]]
    assert tasks_called("colocated", sizes[:1]) == sizes[:1]


@pytest.mark.parametrize("folder", ["{}/data/", "data/", "./data/", ""])
def test_a_file_has_all_ways_in_which_it_was_read(sizes, tmp_path, folder):
    assert tasks_called(f"{folder.format(tmp_path)}cells.csv", sizes) == sizes[2:4]


def test_a_name_of_several_files_lists_their_titles(sizes):
    with pytest.raises(
        ValueError, match=r"several tasks .*: expected one of 'twice.csv \(in .*a\)"
    ):
        tasks_called("twice.csv", sizes)
    assert tasks_called("b/twice.csv", sizes) == sizes[5:]


def test_an_unknown_name_is_answered_with_the_known_ones(sizes):
    with pytest.raises(ValueError, match="no task 'x' in the store: expected one of 'colocated"):
        tasks_called("x", sizes)

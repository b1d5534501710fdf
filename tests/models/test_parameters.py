"""Sizes of the networks against the paper's."""

from __future__ import annotations

import pytest

from pointforms import models

# D = 12 and 2 classes, D = 45 and 7 classes
PAPER = {
    "mlp": (26_562, 31_111),
    "gcn": (18_434, 23_303),
    "gin": (18_436, 23_305),
    "graphsage": (36_354, 45_447),
    "graph-transformer": (155_522, 173_063),
    "tdl": (18_946, 23_815),
}


@pytest.mark.parametrize("name", list(PAPER))
def test_sizes_are_the_papers(name):
    found = [models.count_parameters(name, D, C) for D, C in ((12, 2), (45, 7))]
    assert tuple(found) == PAPER[name]


@pytest.mark.parametrize(
    ("name", "paper"),
    [("pointnet", 1_465_666), ("pointnet++", 1_465_666), ("point-transformer", 2_154_882)],
)
def test_large_networks_are_in_the_papers_class(name, paper):
    assert models.count_parameters(name, 12, 2) == pytest.approx(paper, rel=0.2)

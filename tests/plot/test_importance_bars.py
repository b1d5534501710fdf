"""Bars of what a model relies on."""

from __future__ import annotations

import pointforms as pf
from pointforms.explain import Importance, Reliance


def test_found_bars_are_filled_and_pairs_are_on_the_right():
    rows = (
        Reliance("CD3", None, "distribution", 0.8, 0.001, 0.6, 1.0, 0.2),
        Reliance("CD3", "CD4", "covariation", 0.3, 0.02, 0.1, 0.5, 0.1),
        Reliance("CD4", None, "covariation", 0.1, 0.6, -0.1, 0.3, 0.0),
        Reliance("CD4", None, "distribution", 0.0, 1.0, 0.0, 0.0, 0.0),
    )
    smallest = {"distribution": 0.001, "covariation": 0.001}
    table = Importance(rows, (), ("CD3", "CD4"), 0.2, 0.9, "auroc", smallest, 40, 40, 5, "refits")
    left, right = pf.plot.importance(table).axes
    labels = [label.get_text() for label in left.get_yticklabels()]
    assert labels == ["CD3", "CD3 × CD4", "CD4"]
    assert [bar.get_width() for bar in left.patches] == [0.8, 0.0]
    assert [bar.get_width() for bar in right.patches] == [0.3, 0.1]
    filled, empty = (bar.get_facecolor() for bar in right.patches)
    assert filled != empty
    assert empty[:3] == (1, 1, 1)

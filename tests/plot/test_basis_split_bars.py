"""BasisSplit as bars."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from matplotlib.colors import to_hex
from tests.helpers.samples import split_table

from pointforms import plot
from pointforms.plot import style


def test_bars_are_filled_where_the_difference_is_significant():
    table = split_table()
    figure = plot.basis_split(table)
    left, right = figure.axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["x", "<y>"]
    np.testing.assert_allclose([bar.get_width() for bar in left.patches], [0.6, 0.1])
    colours = [to_hex(bar.get_facecolor()) for bar in left.patches]
    assert colours == [style.BLUE.lower(), "#ffffff"]
    np.testing.assert_allclose([bar.get_width() for bar in right.patches], [1.2, -0.1])
    texts = [text.get_text() for text in left.texts]
    assert texts == ["p = 0.010", "n.s.", "chance"]
    # exactly at the level is not below it
    at_level = plot.basis_split(replace(table, p=np.array([0.05, 0.4])))
    assert to_hex(at_level.axes[0].patches[0].get_facecolor()) == "#ffffff"


def test_the_number_of_bars_is_limited():
    assert len(plot.basis_split(split_table(), most=1).axes[0].patches) == 1

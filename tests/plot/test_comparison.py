"""Figures that compare models."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from pointforms import plot
from pointforms.plot import style

KINDS = ("ours", "baselines")


def bars(figure):
    """Middle of every drawn interval and its ends, by row."""
    (axes,) = figure.axes
    found = {}
    for container in axes.containers:
        (x,), (y,) = container.lines[0].get_data()
        ends = container.lines[2][0].get_segments()[0][:, 0]
        found[float(y)] = (float(x), *ends.tolist())
    return found


def test_a_forest_has_a_row_per_model_with_its_interval():
    figure = plot.forest(
        ["a", "b", "c"], [0.9, nan, 0.7], [0.8, nan, nan], [0.95, nan, nan],
        groups=["ours", "baselines", "baselines"], group_order=KINDS,
    )  # fmt: skip
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first on top
    drawn = bars(figure)
    assert set(drawn) == {0.0, 2.0}
    assert drawn[0.0] == pytest.approx((0.9, 0.8, 0.95))
    assert drawn[2.0] == pytest.approx((0.7, 0.7, 0.7))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(KINDS)


def test_groups_have_the_same_colours_in_every_figure():
    whole = plot.forest(["a", "b"], [1, 1], [1, 1], [1, 1], groups=KINDS, group_order=KINDS)
    alone = plot.forest(["b"], [1], [1], [1], groups=KINDS[1:], group_order=KINDS)
    colours = [figure.axes[0].containers[-1].lines[0].get_color() for figure in (whole, alone)]
    assert colours == [style.COLOURS[1]] * 2


def test_published_values_stand_above_their_row():
    figure = plot.forest(
        ["a", "b"], [0.9, 0.8], [0.9, 0.8], [0.9, 0.8], published=[None, (0.7, 0.6, 0.8)]
    )
    drawn = bars(figure)
    assert drawn[0.7] == pytest.approx((0.7, 0.6, 0.8))
    assert figure.legends[0].get_texts()[-1].get_text() == "paper"


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="lows has 1 values for 2 names"):
        plot.forest(["a", "b"], [0.9, 0.8], [0.9], [0.9, 0.8])


def test_every_fit_is_a_mark_where_its_cost_is_known():
    scores = [0.5, 0.6, nan, 0.8]
    costs = {"seconds": [1.0, 2.0, 3.0, None], "parameters": [10, None, 10, 1000]}
    figure = plot.fits(scores, costs, ["x", "y", "x", "y"])
    seconds, parameters = figure.axes
    for axes, expected in ((seconds, {(1, 0.5), (2, 0.6)}), (parameters, {(10, 0.5), (1000, 0.8)})):
        points = {
            point
            for line in axes.get_lines()
            for point in zip(*map(np.asarray, line.get_data()), strict=True)
        }
        assert points == expected
        assert axes.get_xscale() == "log"

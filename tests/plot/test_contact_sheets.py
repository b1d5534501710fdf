"""Contact sheets of clouds."""

from __future__ import annotations

import numpy as np
import pytest

from pointforms import plot


def test_each_class_has_a_row_of_its_clouds(rng):
    clouds = [rng.normal(size=(n, 2)) for n in (10, 11, 12, 13, 14)]
    figure = plot.contact_sheet(clouds, [1, 0, 1, 0, 1], ["a", "b"], each=2, title="Cells")
    shown = [axes.collections[-1].get_offsets() for axes in figure.axes if axes.axison]
    for drawn, cloud in zip(shown, (1, 3, 0, 2), strict=True):
        np.testing.assert_allclose(drawn, clouds[cloud])
    assert [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()] == ["a", "b"]
    assert figure.get_suptitle() == "Cells: 5 clouds of 10–14 points"


def test_clouds_in_space_are_seen_along_what_varies_most(rng):
    clouds = [rng.normal(size=(200, 3)) * [0.1, 5, 2] for _ in range(4)]
    figure = plot.contact_sheet(clouds, list("abab"))
    spread = figure.axes[0].collections[-1].get_offsets().std(0)
    np.testing.assert_allclose(spread, [5, 2], rtol=0.2)
    assert "principal direction 1 within clouds (85%)" in figure.get_supxlabel()
    assert [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()] == ["a", "b"]


def test_small_clouds_far_apart_have_axes_of_their_own(rng):
    clouds = [rng.normal(size=(20, 2)) + 100 * i for i in range(4)]
    figure = plot.contact_sheet(clouds, [0, 0, 1, 1])
    assert "each column on its own axes" in figure.get_supxlabel()
    with pytest.raises(ValueError, match="labels have shape"):
        plot.contact_sheet(clouds, [0, 1])

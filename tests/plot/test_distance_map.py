from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from scipy.spatial.distance import pdist, squareform

from pointforms import plot
from pointforms.plot import style


@pytest.fixture
def distances(rng):
    X = rng.normal(size=(10, 3))
    X[5:] += 20
    return squareform(pdist(X))


def marks_of(figure):
    return figure.axes[0].collections[0]


def heat_of(figure):
    return next(
        axes for axes in figure.axes if axes.images and axes.images[0].get_size() == (10, 10)
    )


def test_the_heat_map_has_clusters_together(distances, rng):
    order = rng.permutation(10)
    mixed = distances[np.ix_(order, order)]
    figure = plot.sample_map(mixed, names=[f"s{i}" for i in order])
    heat = heat_of(figure)
    shown = [int(label.get_text()[1:]) for label in heat.get_yticklabels()]
    assert {frozenset(shown[:5]), frozenset(shown[5:])} == {
        frozenset(range(5)), frozenset(range(5, 10)),
    }  # fmt: skip
    np.testing.assert_allclose(heat.images[0].get_array(), distances[np.ix_(shown, shown)])


def test_classes_numbers_and_missing_values_have_colours(distances):
    figure = plot.sample_map(distances, color=["a", "b"] * 4 + [None, "a"], color_label="status")
    colours = marks_of(figure).get_facecolors()
    np.testing.assert_allclose(colours[0], to_rgba(style.BLUE))
    np.testing.assert_allclose(colours[1], to_rgba(style.ORANGE))
    np.testing.assert_allclose(colours[8], to_rgba(style.PALE))
    legend = figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "missing"]
    ages = np.arange(10.0)
    ages[3] = np.nan
    scaled = plot.sample_map(distances, color=ages, color_label="age")
    assert len(np.unique(marks_of(scaled).get_facecolors(), axis=0)) == 10
    assert "age" in [axes.get_xlabel() for axes in scaled.axes]
    few = plot.sample_map(distances, color=[0, 1] * 5)
    assert len(np.unique(marks_of(few).get_facecolors(), axis=0)) == 2


def test_it_becomes_svg_with_tooltips(distances):
    figure = plot.sample_map(distances, names=[f"patient {i}" for i in range(10)])
    text = plot.to_svg(figure, "A map", "map-1")
    assert text.count("<title>patient") == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a"]}, "1 names for 10 samples"),
        ({"color": [1]}, r"color has shape \(1,\)"),
        ({"marked": [True]}, r"marked has shape \(1,\)"),
        ({"coordinates": np.zeros((10, 1))}, r"coordinates have shape \(10, 1\)"),
    ],
)
def test_wrong_lengths_are_named(distances, options, message):
    with pytest.raises(ValueError, match=message):
        plot.sample_map(distances, **options)

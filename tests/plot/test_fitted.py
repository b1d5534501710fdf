"""Figures of fitted models: what is on their axes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.image import AxesImage
from matplotlib.quiver import Quiver

import pointforms as pf
from pointforms import plot
from pointforms.nn.network import PointFormNetwork


@pytest.fixture(scope="module")
def clouds() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, 3)) for n in (30, 40, 50, 60)]


@pytest.fixture(scope="module")
def network() -> PointFormNetwork:
    torch.manual_seed(0)
    return PointFormNetwork(3, 2, (1, 2), forms=5, hidden=(8,)).eval()


def drawn(axes, kind):
    return [artist for artist in axes.get_children() if isinstance(artist, kind)]


def test_a_form_field_draws_the_arrows_of_its_data(clouds, network):
    figure = plot.form_field(
        network, clouds, ["b", "a", "b", "a"], ("u", "w"), feature_names=["u", "v", "w"], grid=9
    )
    data = plot.form_field_data(network, clouds, (0, 2), grid=9)
    panels = [axes for axes in figure.axes if axes.axison]
    assert len(panels) == 1 + 5
    for a, axes in enumerate(panels[1:]):
        (quiver,) = drawn(axes, Quiver)
        np.testing.assert_allclose(np.stack([quiver.U, quiver.V], 1), data.arrows()[:, a])
        np.testing.assert_allclose(quiver.XY, data.points)
        assert axes.get_box_aspect() == 1
    assert figure.get_supxlabel().startswith("u\n")
    assert "means over the points" in figure.get_supxlabel()  # the projection is said
    assert figure.get_supylabel() == "w"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_class_names_follow_labels_that_index_them(clouds, network):
    figure = plot.form_field(network, clouds, [1, 1, 1, 1], class_names=["no", "yes"])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["no", "yes"]
    colours = {
        tuple(np.round(c.get_facecolor()[0, :3], 3))
        for c in drawn(figure.axes[0], PathCollection)
        if len(c.get_offsets())
    }
    assert colours == {tuple(np.round([0xD5 / 255, 0x5E / 255, 0], 3))}  # the second class's
    with pytest.raises(ValueError, match="shape"):
        plot.form_field(network, clouds, [0, 1])
    with pytest.raises(ValueError, match="3 class names for 2 classes"):
        plot.form_field(network, clouds, list("abab"), class_names=["x", "y", "z"])


def test_area_maps_share_one_symmetric_scale(clouds, network):
    figure = plot.area_map(network, clouds, (1, 2), grid=7)
    images = [image for axes in figure.axes for image in drawn(axes, AxesImage)]
    assert len(images) == 5
    data = plot.area_map_data(network, clouds, (1, 2), grid=7)
    for a, image in enumerate(images):
        np.testing.assert_allclose(np.ma.filled(image.get_array(), np.nan), data.values[a])
        low, high = image.get_clim()
        assert low == -high == -data.limit()
    assert "coefficient of\ndy ∧ dz" in [axes.get_ylabel() for axes in figure.axes]


def test_tangent_ellipses_of_a_circle_lie_along_it():
    t = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.stack([np.cos(t), np.sin(t), 0 * t], 1)
    field = pf.gram_field(circle, neighbors=16, dimension=1)
    figure = plot.tangent_ellipses(field, ("x", "y"), count=25)
    (axes,) = figure.axes
    assert axes.get_aspect() == 1.0
    (patches,) = drawn(axes, PolyCollection)
    assert len(patches.get_paths()) == 25
    for path in patches.get_paths():
        corners = path.vertices[:-1]
        middle = corners.mean(0)
        assert np.linalg.norm(middle) == pytest.approx(1, abs=0.01)
        longest = corners[np.linalg.norm(corners - middle, axis=1).argmax()] - middle
        cosine = abs(longest @ middle) / np.linalg.norm(longest) / np.linalg.norm(middle)
        assert cosine < 0.05

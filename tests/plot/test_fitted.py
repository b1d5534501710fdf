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


def test_energy_colours_every_point_with_its_own_value(clouds):
    energies = [np.abs(cloud[:, 0]) for cloud in clouds]
    figure = plot.energy_scatter(clouds, energies, (0, 1))
    (points,) = drawn(figure.axes[0], PathCollection)
    # the picture shows x, so the colour is its absolute value, whatever the order
    np.testing.assert_allclose(points.get_array(), np.abs(points.get_offsets()[:, 0]))
    assert len(points.get_offsets()) == 180
    assert (np.diff(points.get_array()) >= 0).all()  # the strongest on top
    assert figure.axes[1].get_ylabel() == "energy"
    signed = plot.energy_scatter(clouds, [cloud[:, 0] for cloud in clouds], (0, 1))
    (points,) = drawn(signed.axes[0], PathCollection)
    assert points.get_clim()[0] == -points.get_clim()[1]
    assert signed.axes[1].get_ylabel() == "contribution"
    with pytest.raises(ValueError, match=r"cloud 1 have shape \(3,\): expected \(40,\)"):
        plot.energy_scatter(clouds, [energies[0], np.ones(3), *energies[2:]])
    with pytest.raises(ValueError, match="not finite"):
        plot.energy_scatter(clouds, [e * np.nan for e in energies])


def test_comparison_pca_says_what_its_axes_explain(rng):
    A = rng.normal(size=(30, 3, 3))
    C = A @ A.transpose(0, 2, 1)
    labels = np.arange(30) % 3
    figure = plot.comparison_pca(C, labels, ["a", "b", "c"])
    data = plot.comparison_pca_data(C)
    (axes,) = figure.axes
    assert axes.get_xlabel() == f"PC 1 ({data.explained[0]:.0%} of variance)"
    assert axes.get_ylabel() == f"PC 2 ({data.explained[1]:.0%} of variance)"
    offsets = np.concatenate([c.get_offsets() for c in drawn(axes, PathCollection)])
    np.testing.assert_allclose(np.sort(offsets, 0), np.sort(data.coordinates, 0))


def test_a_prediction_runs_from_its_baseline_to_its_sum(clouds, rng):
    values = rng.normal(size=30)
    figure = plot.cloud_prediction(clouds[0], values, (0, 1), baseline=-0.5, output="log-odds")
    running = figure.axes[1]
    steps = max(running.get_lines(), key=lambda line: len(line.get_ydata())).get_ydata()
    assert steps[0] == -0.5
    assert steps[-1] == pytest.approx(-0.5 + values.sum())
    jumps = np.abs(np.diff(steps))
    assert (np.diff(jumps) <= 1e-12).all()  # the weightiest first
    texts = " ".join(text.get_text() for text in running.texts)
    assert "baseline\n−0.50" in texts
    assert "contribution to log-odds" in [axes.get_ylabel() for axes in figure.axes]
    with pytest.raises(ValueError, match=r"shape \(3,\): expected \(30,\)"):
        plot.cloud_prediction(clouds[0], np.ones(3))

"""Figures of what a model makes of clouds."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PathCollection

from pointforms import plot


@pytest.fixture(scope="module")
def clouds() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, 3)) for n in (30, 40, 50, 60)]


def drawn(axes, kind):
    return [artist for artist in axes.get_children() if isinstance(artist, kind)]


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

"""Figures of Gram fields and of restricted forms."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.quiver import Quiver

from pointforms.paper.figures.geometry import curve, gram_field_figure, restricted_forms_figure


def drawn(axes, kind):
    return [artist for artist in axes.get_children() if isinstance(artist, kind)]


def test_the_curves_tangents_are_its_derivative():
    t = np.linspace(0, 6, 50)
    step = 1e-6
    points, tangents = curve(t)
    slope = (curve(t + step)[0] - points) / step
    slope /= np.linalg.norm(slope, axis=1, keepdims=True)
    np.testing.assert_allclose(tangents, slope, atol=1e-5)


def test_the_gram_figure_draws_strokes_on_the_manifold_and_ellipses_on_its_sample():
    figure = gram_field_figure(quick=True)
    flat = [axes for axes in figure.axes if axes.name != "3d"]
    smooth, sampled = (drawn(axes, PolyCollection)[0].get_paths() for axes in flat)

    def width(path):
        corners = path.vertices - path.vertices.mean(0)
        return np.linalg.svd(corners, compute_uv=False)[1]

    assert len(smooth) == len(sampled)
    assert max(map(width, smooth)) < 1e-9  # a projector on a line
    assert min(map(width, sampled)) > 1e-3  # noise has width


def test_the_restriction_of_a_one_form_is_its_part_along_the_curve():
    figure = restricted_forms_figure(quick=True)
    (axes,) = (
        axes
        for axes in figure.axes
        if "Quiver" in {type(c).__name__ for c in axes.get_children()} and axes.name != "3d"
    )
    ambient, restricted = drawn(axes, Quiver)
    np.testing.assert_allclose(np.stack([ambient.U, ambient.V], 1), ambient.XY @ [[0, 1], [-1, 0]])
    omega = restricted.XY @ np.array([[0, 1], [-1, 0]])
    kept = np.stack([restricted.U, restricted.V], 1)
    # a projection: what is left out is at right angles to what is kept
    np.testing.assert_allclose(((omega - kept) * kept).sum(1), 0, atol=1e-9)

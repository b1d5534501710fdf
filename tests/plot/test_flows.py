"""Learned forms beside two planar flows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.quiver import Quiver

import pointforms as pf
from pointforms import plot
from pointforms.nn.network import PointFormNetwork
from pointforms.plot.flows import alignment


def drawn(axes, kind):
    return [artist for artist in axes.get_children() if isinstance(artist, kind)]


def test_circles_have_the_colour_of_the_flow_along_which_the_forms_lie():
    task = pf.tasks.load("circles-vs-lines", clouds=20)
    network = PointFormNetwork(2, 2, (1,), forms=2, hidden=()).double()
    last = network.point_forms()[0].network.last
    with torch.no_grad():
        last.weight.copy_(torch.tensor([[0.0, 1], [-1, 0], [1, 0], [0, 1]]))
        last.bias.zero_()
    figure = plot.flow_forms(network, task.clouds, task.labels, task.class_names)
    panels = figure.axes[1:3]
    assert [axes.get_xlabel() for axes in panels] == [
        "turning 1.00\nleaving 0.00",
        "turning 0.00\nleaving 1.00",
    ]
    colours = [drawn(axes, Quiver)[0].get_facecolor()[0] for axes in panels]
    assert not np.allclose(*colours)
    assert alignment(np.array([[1.0, 1.0]]), np.array([[2.0, 0.0]])) == pytest.approx(0.5**0.5)

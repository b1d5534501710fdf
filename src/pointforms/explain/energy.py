"""The energy of learned forms at each point."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pointforms.explain.coefficients import layer_of, network_of
from pointforms.explain.contributions import point_matrices
from pointforms.explain.evaluation import cloud_points, double_precision
from pointforms.geometry.field import Measure


def point_energy(
    model: Any, clouds: Any, degree: int | None = None, measure: Measure | None = None
) -> list[np.ndarray]:
    """Return μ(p) Σ_a |ω_a|²(p) at the points of each cloud, which sums to trace C.

    Parameters
    ----------
    model : PointFormClassifier, PointFormRegressor, PointFormTransformer or PointFormNetwork
        A fitted model.
    clouds : list of (n_i, D) arrays, or Gram fields
        A network needs Gram fields.
    degree : int, optional
        Degree of the forms, for a model that has several.
    measure : str, optional
        The measure μ. By default that of the estimator, and uniform for a network.

    Returns
    -------
    list of (n_i,) arrays

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = list(np.random.default_rng(0).normal(size=(4, 20, 3)))
    >>> model = pf.PointFormTransformer(forms=2, hidden=(4,), epochs=0, neighbors=8).fit(clouds)
    >>> energy = pf.explain.point_energy(model, clouds)
    >>> C = model.comparison_matrices(clouds)
    >>> bool(np.isclose(energy[0].sum(), np.trace(C[0]), rtol=1e-4))
    True
    """
    points = cloud_points(model, clouds, measure)
    network = double_precision(network_of(model))
    layer, read = layer_of(network, degree), points.read_by(network)
    energy = torch.cat(
        [
            point_matrices(network, layer, points, read, rows).diagonal(dim1=-2, dim2=-1).sum(-1)
            for rows in points.blocks(layer.forms, layer.degree)
        ]
    )
    return [part.numpy() for part in energy.split(points.sizes)]

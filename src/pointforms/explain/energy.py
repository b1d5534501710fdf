"""The energy of learned forms at each point, and predictions split over points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin

from pointforms.estimators import PointFormTransformer
from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.explain.coefficients import layer_of, network_of
from pointforms.explain.contributions import comparison_matrices, point_matrices
from pointforms.explain.decision import decision, path_gradients
from pointforms.explain.evaluation import cloud_points, double_precision
from pointforms.explain.refits import output_units
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


@dataclass(frozen=True, eq=False)
class PredictionSplit:
    """Predictions split over points: baseline + Σ_p points[i][p] = output[i].

    Attributes
    ----------
    points : list of (n_i, outputs) arrays
        What each point adds to the output of its cloud.
    baseline : (outputs,) array
        The output for the mean comparison matrix of the reference clouds.
    output : (N, outputs) array
        For a classifier the logit of each class minus the mean of the others, which is the
        log-odds for two classes; for a regressor its prediction.

    Examples
    --------
    >>> points = [np.array([[0.25], [0.5]])]
    >>> split = PredictionSplit(points, np.array([0.5]), np.array([[1.25]]))
    >>> (split.baseline + split.points[0].sum(0)).tolist()
    [1.25]
    """

    points: list[np.ndarray]
    baseline: np.ndarray
    output: np.ndarray


def prediction_split(estimator: Any, clouds: Any, reference: Any = None) -> PredictionSplit:
    """Split predictions over the points of each cloud.

    The comparison matrix is a sum over points, C = Σ_p C_p. Integrated gradients along the straight
    path from the reference's mean matrix C̄ to C, w = ∫₀¹ ∂f/∂C dt, give
    f(C) = f(C̄) + ⟨w, C - C̄⟩, so that the point p adds

        ⟨w, C_p⟩ - μ(p) ⟨w, C̄⟩ / Σμ,

    what goes beyond an equal share of the mean cloud. The sum is exact up to the quadrature.

    Parameters
    ----------
    estimator : PointFormClassifier or PointFormRegressor
        A fitted estimator.
    clouds : list of (n_i, D) arrays, or Gram fields
        One array per cloud, all with the same features.
    reference : list of (n_i, D) arrays, or Gram fields, optional
        Clouds that predictions are compared with, such as the training clouds. By default the
        given clouds, of which there must then be several.

    Returns
    -------
    PredictionSplit

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = list(np.random.default_rng(0).normal(size=(8, 12, 2)))
    >>> model = pf.PointFormClassifier(forms=2, hidden=(4,), epochs=1, neighbors=6, dimension=2)
    >>> split = pf.explain.prediction_split(model.fit(clouds, np.arange(8) % 2), clouds)
    >>> total = split.baseline + split.points[0].sum(0)
    >>> bool(np.allclose(total, split.output[0], atol=1e-6))
    True
    """
    if not isinstance(estimator, PointFormEstimator) or isinstance(estimator, PointFormTransformer):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}: expected a fitted PointFormClassifier or "
            "PointFormRegressor"
        )
    points = cloud_points(estimator, clouds)
    if reference is None and len(points.sizes) < 2:
        raise ValueError("one cloud cannot be compared with itself: give reference clouds")
    network, classifier = double_precision(estimator.model_), isinstance(estimator, ClassifierMixin)
    compared = matrices = comparison_matrices(network, points)
    if reference is not None:
        compared = comparison_matrices(network, cloud_points(estimator, reference))
    means = [C.mean(0) for C in compared]
    start = [M.expand_as(C) for M, C in zip(means, matrices, strict=True)]
    gradients = path_gradients(network, start, matrices, classifier)
    mass = points.weights.new_zeros(len(points.sizes))
    mass.index_add_(0, points.cloud, points.weights)
    equal = (points.weights / mass[points.cloud]).unsqueeze(-1)
    total, read = torch.zeros((), dtype=torch.float64), points.read_by(network)
    for layer, w, M in zip(network.point_forms(), gradients, means, strict=True):
        own = torch.cat(
            [
                torch.einsum(
                    "pcab,pab->pc",
                    w[points.cloud[rows]],
                    point_matrices(network, layer, points, read, rows),
                )
                for rows in points.blocks(layer.forms, layer.degree)
            ]
        )
        share_of_mean = equal * torch.einsum("ncab,ab->nc", w, M)[points.cloud]
        total = total + (own - share_of_mean)
    with torch.no_grad():
        baseline = decision(network, means, classifier)
        output = decision(network, matrices, classifier)
    scale = output_units(estimator)
    shift = 0.0 if classifier else np.array(estimator.target_mean_)
    return PredictionSplit(
        [part.numpy() * scale for part in total.split(points.sizes)],
        baseline.numpy() * scale + shift,
        output.numpy() * scale + shift,
    )

"""Where on a cloud the forms live, and which points drive its prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from torch import Tensor

from pointforms.estimators import PointFormTransformer
from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.explain.coefficients import layer_of, network_of
from pointforms.explain.contributions import comparison_matrices, point_matrices
from pointforms.explain.decision import contrasts, outputs_of, path_gradients
from pointforms.explain.evaluation import Points, clouds_of, double
from pointforms.geometry.field import Measure


def point_energy(
    model: Any, clouds: Any, degree: int | None = None, measure: Measure | None = None
) -> list[np.ndarray]:
    """μ(p) Σ_a |ω_a|²(p) at the points of each cloud: arrays (n_i,), which sum to trace C.

    Parameters
    ----------
    model : a fitted estimator, or a PointFormNetwork
    clouds : list of (n_i, D), or Gram fields; a network needs Gram fields
    degree : int or None
        Of a model that has several.
    measure : the estimator's if not given, uniform for a network
    """
    fields, mu = clouds_of(model, clouds, measure)
    network = double(network_of(model))
    layer = layer_of(network, degree)
    points = Points.of(fields, mu)
    energy = torch.cat(
        [
            point_matrices(network, layer, points, rows).diagonal(dim1=-2, dim2=-1).sum(-1)
            for rows in points.blocks(layer.forms, layer.degree)
        ]
    )
    return [part.numpy() for part in energy.split(points.sizes)]


@dataclass(frozen=True, eq=False)
class PredictionSplit:
    """Predictions split over points: baseline + Σ_p points[i][p] = output[i].

    Attributes
    ----------
    points : list of (n_i, outputs)
        What each point adds to the output of its cloud.
    baseline : (outputs,)
        The output for the mean comparison matrix of the reference clouds.
    output : (N, outputs)
        Of a classifier the logit of each class less the mean of the others', which is the
        log-odds for two classes; of a regressor its prediction.
    """

    points: list[np.ndarray]
    baseline: np.ndarray
    output: np.ndarray


def prediction_split(estimator: Any, clouds: Any, reference: Any = None) -> PredictionSplit:
    """Split what an estimator makes of clouds over their points.

    The comparison matrix is a sum over points, C = Σ_p C_p. Integrated gradients along the straight
    path from the reference's mean matrix C̄ to C, w = ∫₀¹ ∂f/∂C dt, give
    f(C) = f(C̄) + ⟨w, C - C̄⟩, so that the point p is responsible for

        ⟨w, C_p⟩ - μ(p) ⟨w, C̄⟩ / Σμ,

    what it adds beyond an equal share of the mean cloud. The sum is exact up to the quadrature.

    Parameters
    ----------
    estimator : a fitted PointFormClassifier or PointFormRegressor
    clouds : list of (n_i, D), or Gram fields
    reference : clouds that a prediction is compared with, such as the training clouds; by default
        the given clouds, of which there must then be several
    """
    if not isinstance(estimator, PointFormEstimator) or isinstance(estimator, PointFormTransformer):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}: expected a fitted PointFormClassifier or "
            "PointFormRegressor"
        )
    fields, mu = clouds_of(estimator, clouds, None)
    if reference is None and len(fields) < 2:
        raise ValueError("one cloud is not compared with itself: give reference clouds")
    network, classifier = double(estimator.model_), isinstance(estimator, ClassifierMixin)
    points = Points.of(fields, mu)
    matrices = comparison_matrices(network, points)
    if reference is None:
        means = [C.mean(0) for C in matrices]
    else:
        others, _ = clouds_of(estimator, reference, None)
        means = [C.mean(0) for C in comparison_matrices(network, Points.of(others, mu))]
    start = [M.expand_as(C) for M, C in zip(means, matrices, strict=True)]
    gradients = path_gradients(network, start, matrices, classifier)
    mass = points.weights.new_zeros(len(points.sizes))
    mass.index_add_(0, points.cloud, points.weights)
    equal = (points.weights / mass[points.cloud]).unsqueeze(-1)
    total: Tensor | None = None
    for layer, w, M in zip(network.point_forms(), gradients, means, strict=True):
        own = torch.cat(
            [
                torch.einsum(
                    "pcab,pab->pc",
                    w[points.cloud[rows]],
                    point_matrices(network, layer, points, rows),
                )
                for rows in points.blocks(layer.forms, layer.degree)
            ]
        )
        added = own - equal * torch.einsum("ncab,ab->nc", w, M)[points.cloud]
        total = added if total is None else total + added
    assert total is not None
    with torch.no_grad():
        baseline, output = outputs_of(network, means), outputs_of(network, matrices)
    if classifier:
        baseline, output = contrasts(baseline), contrasts(output)
        scale, shift = np.ones(1), np.zeros(1)
    else:
        scale, shift = np.array(estimator.target_scale_), np.array(estimator.target_mean_)
    return PredictionSplit(
        [part.numpy() * scale for part in total.split(points.sizes)],
        baseline.numpy() * scale + shift,
        output.numpy() * scale + shift,
    )

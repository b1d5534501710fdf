"""Predictions split over the points of each cloud."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from sklearn.base import is_classifier
from torch import Tensor

from pointforms.estimators import PointFormTransformer
from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.explain.contributions import comparison_matrices, point_matrices
from pointforms.explain.decision import decision, path_gradients
from pointforms.explain.evaluation import CloudPoints, all_in_double_precision, cloud_points
from pointforms.explain.refits import output_units
from pointforms.geometry.field import GramField
from pointforms.nn.network import PointFormNetwork


@dataclass(frozen=True, eq=False)
class PredictionSplit:
    """Predictions split over points: baseline + Σ_p points[i][p] + rest[i] = output[i].

    Attributes
    ----------
    points : list of (n_i, outputs) arrays
        What each point adds to the output of its cloud.
    baseline : (outputs,) array
        The output for the mean comparison matrices of the reference clouds.
    output : (N, outputs) array
        For a classifier the logit of each class minus the mean of the others, which is the
        log-odds for two classes; for a regressor its prediction.
    rest : (N, outputs) array
        What does not go through points, as a difference from its mean over the reference clouds: 0
        for point-forms; for a portfolio what its models of pooled summaries say, and what the pool
        takes off the outputs of a part that is too sure.

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
    rest: np.ndarray = field(default_factory=lambda: np.zeros(1))

    @property
    def share(self) -> float:
        """The share of the decision that goes through points, from 0 to 1.

        It is Σ|s| / (Σ|s| + Σ|rest|) over clouds and outputs, where s is the sum over the points
        of a cloud.
        """
        through = sum(float(np.abs(part.sum(0)).sum()) for part in self.points)
        beside = float(np.abs(self.rest).sum())
        return through / (through + beside) if through + beside > 0 else 1.0


@dataclass(frozen=True, eq=False)
class PooledForms:
    """The point-forms of a pool of models, and what the whole pool makes of some clouds.

    Attributes
    ----------
    fields : sequence of GramField
        The clouds.
    estimators : sequence of PointFormEstimator
        The point-forms.
    weights : sequence of float
        The weight of each in the output of the pool.
    output : (N, outputs) array
        The output of the pool: logarithms of probabilities, or numbers.
    unit, shift : (outputs,) array
        A number of the pool is shift + unit × output; 1 and 0 for classes.
    names : sequence of str
        What the pool calls each of the point-forms.
    """

    fields: Sequence[GramField]
    estimators: Sequence[PointFormEstimator]
    weights: Sequence[float]
    output: np.ndarray
    unit: np.ndarray
    shift: np.ndarray
    names: Sequence[str]


@runtime_checkable
class PoolsForms(Protocol):
    """An estimator that pools point-forms with other models, such as `CloudClassifier`."""

    def pooled_forms(self, clouds: Any) -> PooledForms:
        """Return the point-forms, and the output of the pool for some clouds."""


def prediction_split(estimator: Any, clouds: Any, reference: Any = None) -> PredictionSplit:
    """Split predictions over the points of each cloud.

    The comparison matrix is a sum over points, C = Σ_p C_p. Integrated gradients along the straight
    path from the reference's mean matrix C̄ to C, w = ∫₀¹ ∂f/∂C dt, give
    f(C) = f(C̄) + ⟨w, C - C̄⟩, so that the point p adds

        ⟨w, C_p⟩ - μ(p) ⟨w, C̄⟩ / Σμ,

    what goes beyond an equal share of the mean cloud. The sum is exact up to the quadrature.

    With several members, f is their average, a function of the matrices of all members, which move
    along the path together; what a point adds is the sum over members. Of a `CloudClassifier` or
    `CloudRegressor`, the point-forms are split, each times its weight in the pool. What the models
    of pooled summaries say is the `rest`, and `share` tells how much of the decision goes through
    points.

    Parameters
    ----------
    estimator : PointFormClassifier, PointFormRegressor, CloudClassifier or CloudRegressor
        A fitted estimator.
    clouds : list of (n_i, D) arrays, or Gram fields
        One array per cloud, all with the same features. A portfolio needs arrays.
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
    if isinstance(estimator, PoolsForms):
        return _split_of_pool(estimator, clouds, reference)
    if not isinstance(estimator, PointFormEstimator) or isinstance(estimator, PointFormTransformer):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}: expected a fitted PointFormClassifier, "
            "PointFormRegressor, CloudClassifier or CloudRegressor"
        )
    points = cloud_points(estimator, clouds)
    _check_reference(reference, len(points.sizes))
    compared = points if reference is None else cloud_points(estimator, reference)
    added, baseline, output = _split(estimator, points, compared)[:3]
    unit = output_units(estimator)
    shift = 0.0 if is_classifier(estimator) else np.array(estimator.target_mean_)
    return PredictionSplit(
        [part * unit for part in added],
        baseline * unit + shift,
        output * unit + shift,
        np.zeros_like(output),
    )


def _split_of_pool(estimator: PoolsForms, clouds: Any, reference: Any) -> PredictionSplit:
    """Split what the point-forms of a pool say, times their weights; the rest stays whole."""
    pooled = estimator.pooled_forms(clouds)
    _check_reference(reference, len(pooled.fields))
    compared = pooled if reference is None else estimator.pooled_forms(reference)
    classifier = is_classifier(estimator)
    output, of_reference = (_contrasted(one.output, classifier) for one in (pooled, compared))
    baseline = of_reference.mean(0)
    added = [np.zeros((len(one), output.shape[1])) for one in pooled.fields]
    for weight, part in zip(pooled.weights, pooled.estimators, strict=True):
        points, others = cloud_points(part, pooled.fields), cloud_points(part, compared.fields)
        own, start, _, at_reference = _split(part, points, others)
        added = [total + weight * one for total, one in zip(added, own, strict=True)]
        # the forms start at their output for the mean matrices, not at their mean output
        baseline = baseline + weight * (start - at_reference.mean(0))
    rest = output - baseline - np.stack([part.sum(0) for part in added])
    unit, shift = pooled.unit, pooled.shift
    return PredictionSplit(
        [part * unit for part in added],
        baseline * unit + shift,
        output * unit + shift,
        rest * unit,
    )


def _split(
    estimator: PointFormEstimator, points: CloudPoints, compared: CloudPoints
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Return what each point adds, the baseline, and the outputs for both sets of clouds."""
    networks, classifier = all_in_double_precision(estimator.model_), is_classifier(estimator)
    matrices = _matrices(networks, points)
    references = matrices if compared is points else _matrices(networks, compared)
    means = [C.mean(0) for C in references]
    start = [M.expand_as(C) for M, C in zip(means, matrices, strict=True)]
    gradients = path_gradients(networks, start, matrices, classifier)
    mass = points.weights.new_zeros(len(points.sizes))
    mass.index_add_(0, points.cloud, points.weights)
    equal = (points.weights / mass[points.cloud]).unsqueeze(-1)
    total = points.weights.new_zeros(())
    left = iter(zip(gradients, means, strict=True))
    for network in networks:
        read = points.read_by(network)
        for layer in network.point_forms():
            w, M = next(left)
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
        baseline, output, at_reference = (
            decision(networks, C, classifier).numpy() for C in (means, matrices, references)
        )
    added = [part.numpy() for part in total.split(points.sizes)]
    return added, baseline, output, at_reference


def _matrices(networks: Sequence[PointFormNetwork], points: CloudPoints) -> list[Tensor]:
    """Return the comparison matrices of every network, one after another."""
    return [C for network in networks for C in comparison_matrices(network, points)]


def _contrasted(logits: np.ndarray, classifier: bool) -> np.ndarray:
    """Return each class against the mean of the others, or numbers as they are."""
    if not classifier:
        return logits
    classes = logits.shape[1]
    against: np.ndarray = (logits - logits.mean(1, keepdims=True)) * (classes / (classes - 1))
    return against


def _check_reference(reference: Any, count: int) -> None:
    if reference is None and count < 2:
        raise ValueError("one cloud cannot be compared with itself: give reference clouds")

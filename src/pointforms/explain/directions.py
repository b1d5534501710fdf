"""In which direction a tangent speaks for a class: the decision as a field over the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pointforms.estimators import PointFormClassifier
from pointforms.explain.coefficients import evaluate, layer_of
from pointforms.explain.contributions import comparison_matrices
from pointforms.explain.decision import path_gradients
from pointforms.explain.evaluation import Points, clouds_of, double
from pointforms.explain.labels import Labels
from pointforms.nn.network import PointFormNetwork


def decision_gradients(
    network: PointFormNetwork,
    points: Points,
    contrasts: list[tuple[int, np.ndarray]],
    classifier: bool,
) -> list[np.ndarray]:
    """w, the gradients of outputs along paths between mean matrices: (contrasts, l, l) a degree.

    The path leads from the mean over other clouds to that over a contrast's clouds, so that
    ⟨w, C̄ of its clouds - C̄ of the others⟩ is what the output changes by.

    Parameters
    ----------
    contrasts : an output each, and which clouds (N,) are its own
    """
    matrices = comparison_matrices(network, points)
    own = [torch.from_numpy(mask) for _, mask in contrasts]
    start = [torch.stack([C[~mask].mean(0) for mask in own]) for C in matrices]
    end = [torch.stack([C[mask].mean(0) for mask in own]) for C in matrices]
    found = path_gradients(network, start, end, classifier)
    outputs = [output for output, _ in contrasts]
    return [w[range(len(outputs)), outputs].numpy() for w in found]


def class_directions(estimator: Any, clouds: Any, y: Any) -> list[np.ndarray]:
    """Unit vectors u_c(p) along which a curve through p speaks most for class c: (n_i, classes, D).

    Of 1-forms. The decision is linear in the geometry along the path between class means,
    ⟨w, C⟩ = Σ_p μ(p) tr(Q(p) G(p)) with Q(p) = Σ_ab w_ab ω_a(p) ω_b(p)ᵀ; u_c is the leading
    eigenvector of the Q of class c. Its sign means nothing.

    The learned forms themselves are free to turn into each other and to change in length where
    the head can undo it; this field is not.
    """
    if not isinstance(estimator, PointFormClassifier):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}: expected a fitted PointFormClassifier"
        )
    fields, mu = clouds_of(estimator, clouds, None)
    labels = Labels.of(estimator, y, len(fields))
    network, points = double(estimator.model_), Points.of(fields, mu)
    layer = layer_of(network, None)
    if layer.degree != 1:
        raise ValueError(f"the forms have degree {layer.degree}: directions are those of 1-forms")
    contrasts = [(c, labels.values[:, c] > 0) for c in range(labels.values.shape[1])]
    w = torch.from_numpy(decision_gradients(network, points, contrasts, True)[0])
    with torch.no_grad():
        F = evaluate(network, layer, points.points)
        Q = torch.einsum("cab,pai,pbj->pcij", w, F, F)
        leading = torch.linalg.eigh(Q).eigenvectors[..., -1]
    return [part.numpy() for part in leading.split(points.sizes)]

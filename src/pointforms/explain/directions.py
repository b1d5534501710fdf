"""The direction in which a curve through a point speaks most for a class."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pointforms.estimators import PointFormClassifier
from pointforms.explain.cloud_labels import CloudLabels
from pointforms.explain.coefficients import evaluate_read, layer_of
from pointforms.explain.contributions import comparison_matrices
from pointforms.explain.decision import path_gradients
from pointforms.explain.evaluation import CloudPoints, cloud_points, double_precision
from pointforms.nn.network import PointFormNetwork


def decision_gradients(
    network: PointFormNetwork,
    points: CloudPoints,
    contrasts: list[tuple[int, np.ndarray]],
    classifier: bool,
) -> list[np.ndarray]:
    """Return w, gradients of outputs along paths between mean matrices.

    The shape is (contrasts, l, l) for each degree.
    The path leads from the mean over other clouds to that over a contrast's clouds, so that
    ⟨w, C̄ of its clouds - C̄ of the others⟩ is what the output changes by.

    Parameters
    ----------
    contrasts : list of (int, (N,) array)
        An output, and which clouds are its own.
    """
    matrices = comparison_matrices(network, points)
    own = [torch.from_numpy(mask) for _, mask in contrasts]
    start = [torch.stack([C[~mask].mean(0) for mask in own]) for C in matrices]
    end = [torch.stack([C[mask].mean(0) for mask in own]) for C in matrices]
    gradients = path_gradients(network, start, end, classifier)
    outputs = [output for output, _ in contrasts]
    return [w[range(len(outputs)), outputs].numpy() for w in gradients]


def class_directions(estimator: Any, clouds: Any, y: Any) -> list[np.ndarray]:
    """Return unit vectors u_c(p) along which a curve through p speaks most for class c.

    For models with 1-forms. The decision is linear in the geometry along the path between class
    means, ⟨w, C⟩ = Σ_p μ(p) tr(Q(p) G(p)) with Q(p) = Σ_ab w_ab ω_a(p) ω_b(p)ᵀ; u_c is the leading
    eigenvector of the Q of class c. Its sign means nothing.

    The learned forms themselves may be mixed and rescaled wherever the head can undo it; this field
    does not depend on that.

    Parameters
    ----------
    estimator : PointFormClassifier
        A fitted classifier of degree 1.
    clouds : list of (n_i, D) arrays, or Gram fields
        One array per cloud, all with the same features.
    y : (N,) array
        Classes of the clouds.

    Returns
    -------
    list of (n_i, classes, D) arrays

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = list(np.random.default_rng(0).normal(size=(8, 12, 2)))
    >>> y = np.arange(8) % 2
    >>> model = pf.PointFormClassifier(forms=2, hidden=(4,), epochs=1, neighbors=6, dimension=2)
    >>> directions = pf.explain.class_directions(model.fit(clouds, y), clouds, y)
    >>> directions[0].shape
    (12, 2, 2)
    """
    if not isinstance(estimator, PointFormClassifier):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}: expected a fitted PointFormClassifier"
        )
    points = cloud_points(estimator, clouds)
    labels = CloudLabels.of(estimator, y, len(points.sizes))
    network = double_precision(estimator.model_)
    layer = layer_of(network, None)
    if layer.degree != 1:
        raise ValueError(f"the forms have degree {layer.degree}: directions are those of 1-forms")
    contrasts = [(c, labels.values[:, c] > 0) for c in range(labels.values.shape[1])]
    w = torch.from_numpy(decision_gradients(network, points, contrasts, True)[0])
    with torch.no_grad():
        F = evaluate_read(network, layer, points.read_by(network))
        Q = torch.einsum("cab,pai,pbj->pcij", w, F, F)
        leading = torch.linalg.eigh(Q).eigenvectors[..., -1]
    return [part.numpy() for part in leading.split(points.sizes)]

"""What each basis form dx^I adds to the comparison matrix of a cloud.

    C = Σ_I C^(I),   C^(I)_ab = ½ Σ_p μ(p) [F_aI (ΛᵏG F_b)_I + F_bI (ΛᵏG F_a)_I]

C^(I) does not depend on the units of the coordinates: what they do to F_I they undo in (ΛᵏG F)_I.
It is the Shapley value of dx^I in C: what setting the coefficients F_I to zero takes away, averaged
over all orders of doing so; terms that two basis forms make together are shared equally.
"""

from __future__ import annotations

import torch
from torch import Tensor

from pointforms.explain.coefficients import evaluate_read
from pointforms.explain.evaluation import CloudPoints, coefficients_and_duals
from pointforms.exterior import pull
from pointforms.nn.network import PointFormNetwork
from pointforms.nn.point_forms import PointForms
from pointforms.support.threads import one_thread


@one_thread()
def parts(
    network: PointFormNetwork, layer: PointForms, points: CloudPoints, basis: slice = slice(None)
) -> Tensor:
    """Return C^(I) of every cloud for all basis forms, or a range: (N, C(D, k), l, l)."""
    total: Tensor | None = None
    read = points.read_by(network)
    for rows in points.blocks(layer.forms, layer.degree):
        F, dual = coefficients_and_duals(network, layer, points, read, rows)
        F = F[..., basis].permute(2, 1, 0)  # (C, l, rows)
        dual = (dual * points.weights[rows, None, None])[..., basis].permute(2, 0, 1)
        if total is None:
            total = F.new_zeros(len(points.sizes), F.shape[0], layer.forms, layer.forms)
        for cloud, inside in points.pieces(rows):
            total[cloud] += F[..., inside] @ dual[:, inside]
    assert total is not None
    return 0.5 * (total + total.mT)


@one_thread()
def comparison_matrices(network: PointFormNetwork, points: CloudPoints) -> list[Tensor]:
    """Return C of every cloud, (N, l, l) for each degree."""
    matrices, read = [], points.read_by(network)
    for layer in network.point_forms():
        total = points.points.new_zeros(len(points.sizes), layer.forms, layer.forms)
        for rows in points.blocks(layer.forms, layer.degree):
            each = point_matrices(network, layer, points, read, rows)
            total.index_add_(0, points.cloud[rows], each)
        matrices.append(total)
    return matrices


@one_thread()
def point_matrices(
    network: PointFormNetwork, layer: PointForms, points: CloudPoints, read: Tensor, rows: slice
) -> Tensor:
    """Return what each point adds, C_p = μ(p) ⟨ω_a, ω_b⟩(p): (rows, l, l).

    `read` is what the network reads at all points, :meth:`CloudPoints.read_by`.
    """
    with torch.no_grad():
        F = evaluate_read(network, layer, read[rows])
        pulled = pull(F, points.factor[rows], layer.degree)  # Vᵀω
        return (pulled @ pulled.mT) * points.weights[rows, None, None]

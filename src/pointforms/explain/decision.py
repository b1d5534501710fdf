"""Outputs of a model's head for comparison matrices, and their change along a path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pointforms.nn.average import average_outputs
from pointforms.nn.network import PointFormNetwork
from pointforms.support.threads import one_thread

# Nodes of the Gauss-Legendre rule on a path between comparison matrices.
_NODES = 24


@one_thread()
def decision(
    networks: PointFormNetwork | Sequence[PointFormNetwork],
    matrices: Sequence[Tensor],
    classifier: bool,
) -> Tensor:
    """Return what the head makes of matrices (..., l, l) of each degree: (..., outputs).

    The outputs of a classifier are contrasted, each class against the mean of the others; for two
    classes these are the log-odds.

    Parameters
    ----------
    networks : PointFormNetwork or sequence of PointFormNetwork
        A network, or the members whose predictions are averaged: probabilities of a classifier,
        outputs of a regressor.
    matrices : sequence of Tensor
        One per degree of the first network, then of the second, and so on.
    classifier : bool
        Whether outputs are logits of classes.
    """
    members = [networks] if isinstance(networks, PointFormNetwork) else list(networks)
    left = iter(matrices)
    each: list[Tensor] = []
    for network in members:
        features = [network.readout(next(left) / e) for e in network.energy]
        each.append(network.head(network.norm(torch.cat(features, -1))))
    outputs = each[0]
    if len(each) > 1:
        outputs = average_outputs(torch.stack(each), probabilities=classifier)
    if not classifier:
        return outputs
    classes = outputs.shape[-1]
    return (outputs - outputs.mean(-1, keepdim=True)) * (classes / (classes - 1))


@one_thread()
def path_gradients(
    networks: PointFormNetwork | Sequence[PointFormNetwork],
    start: Sequence[Tensor],
    end: Sequence[Tensor],
    classifier: bool,
) -> list[Tensor]:
    """Return ∫₀¹ ∂f/∂C dt at start + t (end - start), for every output f.

    The shape is (..., outputs, l, l) for each degree of each network.

    Complete: Σ_degrees ⟨that, end - start⟩ = f(end) - f(start), up to the quadrature's error.
    For a classifier the outputs are contrasted, each class against the mean of the others.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    total: list[Tensor] = []
    for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
        C = [(a + t * (b - a)).requires_grad_() for a, b in zip(start, end, strict=True)]
        with torch.enable_grad():
            out = decision(networks, C, classifier)
            rows = [
                torch.autograd.grad(out[..., c].sum(), C, retain_graph=True)
                for c in range(out.shape[-1])
            ]
        step = [w * torch.stack(one, -3) for one in zip(*rows, strict=True)]
        total = step if not total else [a + b for a, b in zip(total, step, strict=True)]
    return [0.5 * (g + g.mT) for g in total]

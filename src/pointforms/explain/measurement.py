"""Contributions of basis forms in one network, measured on clouds it may not have seen."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from pointforms.explain.cloud_labels import CloudLabels
from pointforms.explain.contributions import parts
from pointforms.explain.directions import decision_gradients
from pointforms.explain.evaluation import CloudPoints
from pointforms.explain.permutation import orthonormal_columns, variance_explained
from pointforms.nn.network import PointFormNetwork

# Numbers in the contributions that are held at once: 256 MB.
_HELD = 1 << 25


class Measurement(NamedTuple):
    """What was measured for B basis forms of all degrees.

    Attributes
    ----------
    energy : (B,) array
        Σ tr C^(I) over the clouds.
    explained : (arrangements, B) array
        η² of C^(I) for each arrangement of the labels.
    explained_by : (contrasts, B) array
        The same for single contrasts, with the labels as they are.
    decision : (contrasts, B) array
        The part through dx^I of the difference in the contrast's output.
    """

    energy: np.ndarray
    explained: np.ndarray
    explained_by: np.ndarray
    decision: np.ndarray


def measure_contributions(
    network: PointFormNetwork,
    points: CloudPoints,
    labels: CloudLabels,
    train: np.ndarray,
    test: np.ndarray,
    places: np.ndarray,
    scale: np.ndarray,
) -> Measurement:
    """Measure contributions on the clouds `test`, with the decision's direction from `train`.

    Parameters
    ----------
    network : PointFormNetwork
        In double precision.
    points : CloudPoints
        Points of all clouds.
    labels : CloudLabels
    train, test : (m,) array
        Indices of clouds.
    places : (arrangements, tests) array
        Rearrangements of the labels of `test`; the first leaves them as they are.
    scale : (outputs,) array
        Units of the outputs.
    """
    contrasts = labels.contrasts()
    learned = [(output, mask[train]) for output, mask in contrasts]
    directions = decision_gradients(network, points.of_clouds(train), learned, labels.classifier)
    values = labels.values[test]
    designs = orthonormal_columns(values[places])
    single = np.stack([orthonormal_columns(values[:, [c]]) for c, _ in contrasts])
    # mean over a contrast's clouds less the mean over the others: (contrasts, tests)
    means = np.stack([a / a.sum() - ~a / (~a).sum() for a in (a[test] for _, a in contrasts)])
    seen = points.of_clouds(test)
    energy, shares, by, decision = [], [], [], []
    for layer, w in zip(network.point_forms(), directions, strict=True):
        i, j = np.triu_indices(layer.forms)
        step = max(1, _HELD // (len(test) * layer.forms**2))
        for basis in gen_batches(comb(points.points.shape[1], layer.degree), step):
            C = parts(network, layer, seen, basis).numpy()  # (tests, B, l, l)
            energy.append(np.trace(C, axis1=2, axis2=3).sum(0))
            # entries of the triangle, so that their squares sum to the Frobenius norm's
            entries = C[..., i, j] * np.where(i == j, 1.0, np.sqrt(2.0))
            shares.append(variance_explained(entries, designs))
            by.append(variance_explained(entries, single))
            decision.append(np.einsum("cn,cab,nBab->cB", means, w, C, optimize=True))
    units = np.array([scale[c] for c, _ in contrasts])[:, None]
    return Measurement(
        np.concatenate(energy),
        np.concatenate(shares, 1),
        np.concatenate(by, 1),
        np.concatenate(decision, 1) * units,
    )

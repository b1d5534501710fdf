"""One network's contributions, read on some clouds, with what was learned from others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np

from pointforms.explain.contributions import parts
from pointforms.explain.directions import decision_gradients
from pointforms.explain.evaluation import Points
from pointforms.explain.labels import Labels
from pointforms.explain.permutation import design, explained
from pointforms.nn.network import PointFormNetwork
from pointforms.nn.point_forms import PointForms

# Numbers in the contributions that are held at once: 256 MB.
_HELD = 1 << 25


@dataclass(frozen=True, eq=False)
class Reading:
    """Of B basis forms of all degrees.

    Attributes
    ----------
    energy : (B,)
        Σ tr C^(I) over the clouds.
    explained : (arrangements, B)
        η² of C^(I) for each arrangement of the labels.
    explained_by : (contrasts, B)
        The same for single contrasts, with the labels as they are.
    decision : (contrasts, B)
        What goes through dx^I of the difference that the contrast's output makes.
    """

    energy: np.ndarray
    explained: np.ndarray
    explained_by: np.ndarray
    decision: np.ndarray


def read(
    network: PointFormNetwork,
    points: Points,
    labels: Labels,
    train: np.ndarray,
    test: np.ndarray,
    places: np.ndarray,
    scale: np.ndarray,
) -> Reading:
    """Contributions on the clouds `test`; the decision's direction comes from the clouds `train`.

    Parameters
    ----------
    network : in double precision
    places : (arrangements, tests)
        Rearrangements of the tests' labels, the first of which is none.
    scale : (outputs,)
        Units of the outputs.
    """
    contrasts = labels.contrasts()
    learned = [(output, mask[train]) for output, mask in contrasts]
    directions = decision_gradients(network, points.of_clouds(train), learned, labels.classifier)
    values = labels.values[test]
    designs = design(values[places])
    single = np.stack([design(values[:, [c]]) for c, _ in contrasts])
    # mean over a contrast's clouds less the mean over the others: (contrasts, tests)
    means = np.stack([a / a.sum() - ~a / (~a).sum() for a in (a[test] for _, a in contrasts)])
    seen = points.of_clouds(test)
    energy, shares, by, decision = [], [], [], []
    for layer, w in zip(network.point_forms(), directions, strict=True):
        i, j = np.triu_indices(layer.forms)
        for basis in _ranges(layer, seen):
            C = parts(network, layer, seen, basis).numpy()  # (tests, B, l, l)
            energy.append(np.trace(C, axis1=2, axis2=3).sum(0))
            # entries of the triangle, so that their squares sum to the Frobenius norm's
            entries = C[..., i, j] * np.where(i == j, 1.0, np.sqrt(2.0))
            shares.append(explained(entries, designs))
            by.append(explained(entries, single))
            decision.append(np.einsum("cn,cab,nBab->cB", means, w, C, optimize=True))
    units = np.array([scale[c] for c, _ in contrasts])[:, None]
    return Reading(
        np.concatenate(energy),
        np.concatenate(shares, 1),
        np.concatenate(by, 1),
        np.concatenate(decision, 1) * units,
    )


def _ranges(layer: PointForms, points: Points) -> Iterator[slice]:
    """Ranges of basis forms whose contributions fit into memory."""
    count = comb(points.points.shape[1], layer.degree)
    step = max(1, _HELD // (len(points.sizes) * layer.forms**2))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))

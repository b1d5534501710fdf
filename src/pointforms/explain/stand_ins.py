"""Features that stand in for each other because they are correlated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.stats import rankdata

# Most points from which correlations are computed.
_POINTS = 20_000


def correlated_features(
    clouds: Sequence[Any], threshold: float, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Return sets of at least two features that are linked by rank correlations of their points.

    Parameters
    ----------
    clouds : sequence of ndarray, each of shape (n_i, D)
        The clouds, whose points are pooled; weights of points do not count.
    threshold : float
        Features with an absolute Spearman correlation of at least this are in one set.
    rng : Generator
        Draws points where there are many.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(100, 3))
    >>> correlated_features([np.c_[x, -x[:, 1] ** 3]], 0.8, rng)
    [(1, 3)]
    """
    points = np.concatenate([np.asarray(cloud) for cloud in clouds])
    if len(points) > _POINTS:
        points = points[rng.choice(len(points), _POINTS, replace=False)]
    ranks = rankdata(points, axis=0)
    ranks -= ranks.mean(0)
    norm = np.sqrt((ranks**2).sum(0))
    ranks /= np.where(norm > 0, norm, 1.0)
    linked = np.abs(ranks.T @ ranks) >= threshold
    members = connected_components(linked, directed=False)[1]
    sets = [tuple(np.flatnonzero(members == name).tolist()) for name in np.unique(members)]
    return [own for own in sets if len(own) > 1]

"""Planar tasks whose classes differ in tangents, not in places."""

from __future__ import annotations

import numpy as np

from pointforms.tasks.task import Task


def circles_vs_lines(seed: int, clouds: int = 300, points: int = 128) -> Task:
    """Trajectories of (ẋ, ẏ) = (y, -x) and of (ẋ, ẏ) = (x, y), from the same starts.

    Both classes pass through the same region, so places alone say little; at each place the
    tangents of the two are orthogonal.
    """
    rng = np.random.default_rng([seed, 1])
    starts = (clouds + 1) // 2
    radius, angle = rng.uniform(0.5, 2.0, starts), rng.uniform(0.0, 2 * np.pi, starts)
    made, labels, groups = [], [], []
    for i in range(clouds):
        group, label = divmod(i, 2)
        t = rng.uniform(0.0, rng.uniform(0.4, 0.8), points)
        if label == 0:  # the flow of (y, -x) turns clockwise
            cloud = _polar(radius[group], angle[group] - 2 * t)
        else:
            cloud = _polar(radius[group] * np.exp(t), angle[group])
        made.append(cloud)
        labels.append(label)
        groups.append(group)
    return Task(
        "circles-vs-lines",
        made,
        np.array(labels),
        np.array(groups),
        ("x", "y"),
        ("circles", "lines"),
        "trajectories that turn against trajectories that leave, through the same places",
        seed,
    )


def _polar(radius: np.ndarray | float, angle: np.ndarray | float) -> np.ndarray:
    return np.stack(np.broadcast_arrays(radius * np.cos(angle), radius * np.sin(angle)), -1)

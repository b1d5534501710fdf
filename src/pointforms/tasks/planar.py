"""Planar tasks about tangents and supports: positions say little, arrangement says everything.

Clouds come in pairs, one of each class, that share a place and stay in one fold.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pointforms.tasks.task import Task, paired_task

# Names of the features of every planar task.
XY = ("x", "y")
# Standard deviation of the noise on points of curves that do not come from a flow.
_NOISE = 0.01


def circles_vs_lines(seed: int, clouds: int = 300, points: int = 128) -> Task:
    """Trajectories of (ẋ, ẏ) = (y, -x) against those of (ẋ, ẏ) = (x, y), from the same starts.

    Both classes pass through the same region, so positions alone say little; at each position the
    tangents of the two are orthogonal.
    """
    rng = np.random.default_rng([seed, 1])
    starts = (clouds + 1) // 2
    radius, angle = rng.uniform(0.5, 2.0, starts), rng.uniform(0.0, 2 * np.pi, starts)
    made = []
    for i in range(clouds):
        group, label = divmod(i, 2)
        t = rng.uniform(0.0, rng.uniform(0.4, 0.8), points)
        if label == 0:  # the flow of (y, -x) turns clockwise
            made.append(polar(radius[group], angle[group] - 2 * t))
        else:
            made.append(polar(radius[group] * np.exp(t), angle[group]))
    return paired_task("circles-vs-lines", made, XY, ("circles", "lines"), seed)


def concentric_circles(seed: int, clouds: int = 300, points: int = 128) -> Task:
    """One circle against two with the same centre, whose radii have the same mean."""
    rng = np.random.default_rng([seed, 3])

    def pair() -> tuple[np.ndarray, np.ndarray]:
        centre, radius = rng.normal(0.0, 0.3, 2), rng.uniform(0.6, 1.4)
        gap = rng.uniform(0.1, 0.3) * _sides(points, rng)
        one = polar(radius, rng.uniform(0.0, 2 * np.pi, points))
        two = polar(radius * (1 + gap), rng.uniform(0.0, 2 * np.pi, points))
        return centre + one, centre + two

    return paired_task(
        "concentric-circles", _pairs(pair, clouds, rng), XY, ("one circle", "two circles"), seed
    )


def parallel_lines(seed: int, clouds: int = 300, points: int = 128) -> Task:
    """One segment against two parallel ones on either side of its place."""
    rng = np.random.default_rng([seed, 4])

    def pair() -> tuple[np.ndarray, np.ndarray]:
        centre, angle = rng.normal(0.0, 0.2, 2), rng.uniform(0.0, 2 * np.pi)
        along, across = polar(1.0, angle), polar(1.0, angle + np.pi / 2)
        gap = rng.uniform(0.15, 0.35) * _sides(points, rng)
        one = rng.uniform(-1.0, 1.0, (points, 1)) * along
        two = rng.uniform(-1.0, 1.0, (points, 1)) * along + gap[:, None] * across
        return centre + one, centre + two

    return paired_task(
        "parallel-lines", _pairs(pair, clouds, rng), XY, ("one line", "two lines"), seed
    )


def colocated(seed: int, clouds: int = 300, points: int = 128) -> Task:
    """Arcs of circles against segments of the same mean, main direction and spread."""
    rng = np.random.default_rng([seed, 5])

    def pair() -> tuple[np.ndarray, np.ndarray]:
        centre, angle = rng.normal(0.0, 0.3, 2), rng.uniform(0.0, 2 * np.pi)
        radius, half = rng.uniform(0.7, 1.3), rng.uniform(0.5, 0.9)
        t = rng.uniform(-half, half, points)
        # ∫ cos over the arc: its mean lies at radius sin(half) / half
        arc = polar(radius, angle + t) - polar(radius * np.sin(half) / half, angle)
        # the variance of sin t, t uniform on ±half, is that of a segment of this half length
        reach = radius * np.sqrt(1.5 * (1 - np.sin(2 * half) / (2 * half)))
        segment = rng.uniform(-reach, reach, (points, 1)) * polar(1.0, angle + np.pi / 2)
        return centre + arc, centre + segment

    return paired_task("colocated", _pairs(pair, clouds, rng), XY, ("arcs", "segments"), seed)


def polar(radius: np.ndarray | float, angle: np.ndarray | float) -> np.ndarray:
    """Return points (..., 2) from polar coordinates."""
    return np.stack(np.broadcast_arrays(radius * np.cos(angle), radius * np.sin(angle)), -1)


def _pairs(
    pair: Callable[[], tuple[np.ndarray, np.ndarray]], clouds: int, rng: np.random.Generator
) -> list[np.ndarray]:
    made = [cloud for _ in range((clouds + 1) // 2) for cloud in pair()][:clouds]
    return [cloud + _NOISE * rng.normal(size=cloud.shape) for cloud in made]


def _sides(points: int, rng: np.random.Generator) -> np.ndarray:
    """Return -1 for half of the points and 1 for the others, in random order."""
    return rng.permutation(np.where(np.arange(points) < points // 2, -1.0, 1.0))

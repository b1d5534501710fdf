"""Planar tasks in which the sampling density is the signal, or a nuisance."""

from __future__ import annotations

import numpy as np

from pointforms.tasks.planar import XY, polar
from pointforms.tasks.task import FOLDS, Task, paired_task


def density_check(seed: int, clouds: int = 300, points: int = 128) -> Task:
    """Circles sampled by von Mises densities of low (κ < 1) or high (κ > 1.2) concentration."""
    rng = np.random.default_rng([seed, 6])
    made = []
    for i in range(clouds):
        kappa = rng.uniform(0.2, 1.0) if i % 2 == 0 else rng.uniform(1.2, 3.0)
        made.append(polar(1.0, rng.uniform(0.0, 2 * np.pi) + rng.vonmises(0.0, kappa, points)))
    return paired_task("density-check", made, XY, ("even", "peaked"), seed)


def density_shift(seed: int, clouds: int = 296, points: int = 256) -> Task:
    """Circles against ellipses of the same circumference, with density as a nuisance.

    Along the curve the density is 1 + a cos(2 (t - m)), with t the share of its length times 2π:
    two dense places opposite each other. Each group has its own a and m, and is a fold, so that
    the densities of the test clouds do not occur in training.
    """
    rng = np.random.default_rng([seed, 7])
    order = np.arange(clouds)
    labels, groups = order % 2, (order // 2) % FOLDS
    made = []
    for label, group in zip(labels, groups, strict=True):
        strength = 0.95 * group / (FOLDS - 1)
        dense = np.pi * group / FOLDS + rng.normal(0.0, 0.15)
        aspect = 1.0 if label == 0 else rng.uniform(1.2, 1.4)
        scale, turn = rng.uniform(0.7, 1.4), rng.uniform(0.0, np.pi)
        t = _two_dense_places(strength, dense, points, rng)
        made.append(rng.normal(0.0, 0.2, 2) + scale * _ellipse(aspect, turn, t))
    names = ("circle", "ellipse")
    return Task("density-shift", made, labels, groups, XY, names, seed=seed)


def _two_dense_places(
    strength: float, place: float, points: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw angles with density (1 + a cos 2(t - m)) / 2π, by rejection."""
    angles = np.empty(0)
    while len(angles) < points:
        t, height = rng.uniform(0.0, 2 * np.pi, 4 * points), rng.uniform(0.0, 2.0, 4 * points)
        angles = np.concatenate([angles, t[height < 1 + strength * np.cos(2 * (t - place))]])
    return angles[:points]


def _ellipse(aspect: float, turn: float, angle: np.ndarray) -> np.ndarray:
    """Return points at these shares of the circumference, up to 2π, of an ellipse of length 2π."""
    t = np.linspace(0.0, 2 * np.pi, 721)
    curve = np.stack([np.sqrt(aspect) * np.cos(t), np.sin(t) / np.sqrt(aspect)], -1)
    length = np.concatenate([[0.0], np.hypot(*np.diff(curve, axis=0).T).cumsum()])
    along = np.interp(np.mod(angle - turn, 2 * np.pi) / (2 * np.pi) * length[-1], length, t)
    x, y = np.sqrt(aspect) * np.cos(along), np.sin(along) / np.sqrt(aspect)
    turned = np.stack(
        [x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)], -1
    )
    scaled: np.ndarray = turned * 2 * np.pi / length[-1]
    return scaled
